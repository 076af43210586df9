package cluster

import (
	"context"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/messages"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

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
	Held     int64 // checked bytes; -1 if the node did not answer
}

// TreeEdge says that bytes go from one node to another.
type TreeEdge struct {
	From, To           phalanx.NodeID
	FromPlace, ToPlace int
}

// Tree returns the live broadcast of an object, or the tree of the reduce that
// makes it. Nodes that do not answer soon are shown without what only they know.
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
	if st.State == directory.Begun && st.Maker == directory.ByReduce {
		if seen, err := l.look(ctx, st.Origin, id); err == nil && len(seen.Places) > 0 {
			t.Kind = "reduce"
			t.reduce(seen.Places)
			l.lookAtAll(ctx, t.Nodes, func(tn TreeNode) phalanx.ObjectID { return tn.Source })
			return t, nil
		}
	}
	for _, h := range st.Holders {
		t.Nodes = append(t.Nodes, TreeNode{Node: h.Node, Complete: h.Complete, Pinned: h.Pinned, Origin: h.Origin})
		if h.Upstream != "" {
			t.Edges = append(t.Edges, TreeEdge{From: h.Upstream, To: h.Node})
		}
	}
	l.lookAtAll(ctx, t.Nodes, func(TreeNode) phalanx.ObjectID { return id })
	return t, nil
}

func (t *Tree) reduce(places []messages.LookPlace) {
	at := map[int]phalanx.NodeID{}
	for _, p := range places {
		at[p.Place] = p.Node
		t.Nodes = append(t.Nodes, TreeNode{Node: p.Node, Place: p.Place, Source: p.Source, Origin: p.Parent < 0})
	}
	for _, p := range places {
		if to, ok := at[p.Parent]; ok {
			t.Edges = append(t.Edges, TreeEdge{From: p.Node, To: to, FromPlace: p.Place, ToPlace: p.Parent})
		}
	}
}

// lookFor bounds how long a tree waits for what single nodes see.
const lookFor = 500 * time.Millisecond

// lookAtAll asks each node how much it holds.
func (l *life) lookAtAll(ctx context.Context, nodes []TreeNode, what func(TreeNode) phalanx.ObjectID) {
	var all sync.WaitGroup
	for i := range nodes {
		tn := &nodes[i]
		tn.Held = -1
		all.Go(func() {
			if seen, err := l.look(ctx, tn.Node, what(*tn)); err == nil {
				tn.Held = seen.Held
			}
		})
	}
	all.Wait()
}

// look asks a node what it sees of an object.
func (l *life) look(ctx context.Context, node phalanx.NodeID, id phalanx.ObjectID) (messages.Look, error) {
	if node == l.id {
		return l.seen(id), nil
	}
	pid, ok := l.on(looksName)(node)
	if !ok {
		return messages.Look{}, &phalanx.Error{Op: "tree", Object: id, Node: node, Kind: phalanx.ErrUnavailable}
	}
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	answer, err := l.n.remote.Request(ctx, pid, &messages.LookRequest{Object: string(id)})
	if err != nil {
		return messages.Look{}, err
	}
	reply, ok := answer.(*messages.LookReply)
	if !ok {
		return messages.Look{}, &phalanx.Error{Op: "tree", Object: id, Node: node, Kind: phalanx.ErrRefused}
	}
	return messages.LookReplyFromProto(reply)
}

// seen is what this node sees.
func (l *life) seen(id phalanx.ObjectID) messages.Look {
	seen := messages.Look{Held: l.store.Table.Held(id)}
	if places, ok := l.reduces.Tree(id); ok {
		for _, p := range places {
			seen.Places = append(seen.Places, messages.LookPlace{Place: p.Place, Parent: p.Parent, Node: p.Node, Source: p.Source})
		}
	}
	return seen
}

// looks is the actor that tells other nodes what this one sees.
func (l *life) looks(c actor.Context) {
	m, ok := c.Message().(*messages.LookRequest)
	if !ok || c.Sender() == nil {
		return
	}
	if id, err := messages.LookFromProto(m); err == nil {
		c.Respond(messages.LookReplyToProto(l.seen(id)))
	}
}
