package cluster

import (
	"context"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
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
		Memory: Memory{Cap: n.budget.Cap(), Used: n.budget.Used(), Idle: l.store.Pool.Idle(), Peak: n.budget.Peak()}}
	s.ShardsOwned, s.ShardsBackedUp = l.host.Roles()
	s.Objects, s.Complete, s.Pinned = l.store.Table.Counts()
	for _, p := range l.conns.Stats() {
		s.BytesSent += p.Sent
		s.BytesReceived += p.Received
	}
	return s
}

// Tree is how an object is moved or made at this moment.
type Tree struct {
	Object phalanx.ObjectID
	Kind   string // "broadcast" or "reduce"
	State  string
	Size   int64
	Nodes  []TreeNode
	Edges  []TreeEdge
}

// TreeNode is a copy, or a place of a reduce.
type TreeNode struct {
	Node     phalanx.NodeID
	Place    int              // of a reduce
	Source   phalanx.ObjectID // of a reduce
	Complete bool
	Pinned   bool
	Origin   bool
	Held     int64 // bytes, if this is the node that was asked; else -1
}

// TreeEdge says that bytes go from one node to another.
type TreeEdge struct {
	From, To           phalanx.NodeID
	FromPlace, ToPlace int
}

// Tree returns the live broadcast of an object, or the tree of the reduce that
// makes it, if this node coordinates that.
func (n *Node) Tree(ctx context.Context, id phalanx.ObjectID) (Tree, error) {
	l, err := n.use("tree", id)
	if err != nil {
		return Tree{}, err
	}
	st, err := n.Stat(ctx, id)
	if err != nil {
		return Tree{}, err
	}
	t := Tree{Object: id, Kind: "broadcast", State: st.State.String(), Size: st.Meta.Size}
	if places, ok := l.reduces.Tree(id); ok && st.State == directory.Begun {
		t.Kind = "reduce"
		at := map[int]phalanx.NodeID{}
		for _, p := range places {
			at[p.Place] = p.Node
			t.Nodes = append(t.Nodes, TreeNode{Node: p.Node, Place: p.Place, Source: p.Source, Origin: p.Parent < 0, Held: l.held(p.Node, p.Source)})
		}
		for _, p := range places {
			if to, ok := at[p.Parent]; ok {
				t.Edges = append(t.Edges, TreeEdge{From: p.Node, To: to, FromPlace: p.Place, ToPlace: p.Parent})
			}
		}
		return t, nil
	}
	for _, h := range st.Holders {
		t.Nodes = append(t.Nodes, TreeNode{Node: h.Node, Complete: h.Complete, Pinned: h.Pinned, Origin: h.Origin, Held: l.held(h.Node, id)})
		if h.Upstream != "" {
			t.Edges = append(t.Edges, TreeEdge{From: h.Upstream, To: h.Node})
		}
	}
	return t, nil
}

func (l *life) held(node phalanx.NodeID, id phalanx.ObjectID) int64 {
	if node != l.id {
		return -1
	}
	return l.store.Table.Held(id)
}
