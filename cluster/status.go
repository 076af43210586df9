package cluster

import (
	"slices"
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
	Idle int64 // of Used: kept for reuse, and given up as soon as memory is needed
	Peak int64

	Directory int64 // of Used: records and inline bytes of the shards that this node owns or backs up
	Services  int64 // of Used: memory of services, such as barriers and groups

	Pinned   int64 // of Used: copies that are not evicted
	Reserved int64 // of Used: objects that are being put, Directory and Services

	Waiting      int   // requests that wait for memory
	WaitingBytes int64 // for which they wait
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
	Formed         int              // how often the cluster was formed anew (Recover)
	Missing        []phalanx.NodeID // members that were missing then, and in whose name no node has come since
	Unready        error            `json:"-"` // why it cannot be given work: it leaves, was removed, or the majority of the voters is lost; nil if it can
	MajorityLost   bool             // as this node sees it: nothing is decided
	MissingVoters  []phalanx.NodeID // while it is lost: voters that this node does not hear
	ShardsOwned    int
	ShardsBackedUp int
	Memory         Memory
	Objects        int // copies at this node, also partial ones
	Complete       int
	Pinned         int
	Evictions      uint64 // copies that were dropped for room; this and the other totals are since the node was started
	Fetching       int    // objects that arrive
	Reduces        int    // that this node coordinates
	Places         int    // of reduces
	BytesSent      uint64
	BytesReceived  uint64
	Requests       uint64 // to the directory
	StreamsBusy    uint64 // streams that were told that this node is busy, since their node had Config.Streams
}

// Status returns the state of the node.
func (n *Node) Status() Status {
	l := n.life.Load()
	v := *l.view.Load()
	s := Status{Node: l.id, Cluster: n.cfg.Cluster, Version: Version, Uptime: time.Since(n.started), View: v.Number, Members: v.Members,
		Voters: v.Voters, Formed: v.Form().Round(), Missing: missing(v), Fetching: l.store.Fetching(), Reduces: l.reduces.Running(), Places: l.places.Running(),
		Memory: Memory{Cap: n.budget.Cap(), Used: n.budget.Used(), Idle: l.store.Pool.Idle(), Peak: n.budget.Peak(), Directory: l.host.Memory(), Services: n.heldByServices()}}
	s.Memory.Pinned, s.Memory.Reserved = n.budget.Lasting()
	s.Memory.Waiting, s.Memory.WaitingBytes = n.budget.Waiting()
	if why := n.unready(); why != nil {
		s.Unready = why
	}
	if m := l.majority.Load(); m != nil {
		s.MajorityLost, s.MissingVoters = true, slices.Clone(m.Missing)
	}
	s.ShardsOwned, s.ShardsBackedUp = l.host.Roles()
	s.Objects, s.Complete, s.Pinned = l.store.Table.Counts()
	s.Evictions = l.store.Table.Evictions()
	total := l.totals()
	s.BytesSent, s.BytesReceived, s.Requests, s.StreamsBusy = total.sent, total.received, total.requests, total.busy
	return s
}

// totals are counts that never fall as long as the process lives.
type totals struct{ sent, received, requests, busy uint64 }

// totals returns the counts of this incarnation and all earlier ones.
func (l *life) totals() totals {
	t := l.before
	sent, received := l.conns.Traffic()
	t.sent += sent
	t.received += received
	t.requests += l.client.Requests()
	t.busy += l.conns.TurnedAway()
	return t
}
