package cluster

import (
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// Version is the program's version.
const Version = "0.1.0"

// Memory says how much of the cap is in use, in bytes.
type Memory struct {
	Cap  int64
	Used int64
	Idle int64 // of Used: kept for reuse, and given up as soon as anybody needs room
	Peak int64

	Directory int64 // of Used: records and inline bytes of the shards that this node owns or backs up
}

// Status describes a node.
type Status struct {
	Node           phalanx.NodeID
	Cluster        string
	Version        string
	Uptime         time.Duration
	View           uint64
	Members        []view.Member
	Voters         []phalanx.NodeID
	ShardsOwned    int
	ShardsBackedUp int
	Memory         Memory
	Objects        int // copies at this node, also partial ones
	Complete       int
	Pinned         int
	Fetching       int // objects that arrive
	Reduces        int // that this node coordinates
	Places         int // of reduces
	BytesSent      uint64
	BytesReceived  uint64
	Requests       uint64 // to the directory
}

// Status returns what the node is doing.
func (n *Node) Status() Status {
	l := n.life.Load()
	v := *l.view.Load()
	s := Status{Node: l.id, Cluster: n.cfg.Cluster, Version: Version, Uptime: time.Since(n.started), View: v.Number, Members: v.Members,
		Voters: v.Voters, Fetching: l.store.Fetching(), Reduces: l.reduces.Running(), Places: l.places.Running(), Requests: l.client.Requests(),
		Memory: Memory{Cap: n.budget.Cap(), Used: n.budget.Used(), Idle: l.store.Pool.Idle(), Peak: n.budget.Peak(), Directory: l.host.Memory()}}
	s.ShardsOwned, s.ShardsBackedUp = l.host.Roles()
	s.Objects, s.Complete, s.Pinned = l.store.Table.Counts()
	for _, p := range l.conns.Stats() {
		s.BytesSent += p.Sent
		s.BytesReceived += p.Received
	}
	return s
}
