package cluster

import (
	"context"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/messages"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

// Tree is how an object is moved or made at this moment.
type Tree struct {
	Object phalanx.ObjectID
	Kind   string // "broadcast" or "reduce"
	State  string
	Size   int64
	Degree int // of a reduce
	Nodes  []TreeNode
	Edges  []TreeEdge
	Hidden int // nodes that are left out, in a tree of very many
}

// TreeNode is a copy, or a place of a reduce.
type TreeNode struct {
	Node     phalanx.NodeID
	Place    int              // of a reduce
	Source   phalanx.ObjectID // of a reduce
	Gen      reduce.PlaceGen  // of a reduce: the label of the place's output
	Empty    bool             // of a reduce: the place is lost and not replaced yet
	Complete bool
	Pinned   bool
	Origin   bool  // this node makes the object; of a reduce, the root
	Held     int64 // checked bytes of the object, or of the place's output; -1 if the node did not answer
}

// TreeEdge says that bytes go from one node to another.
type TreeEdge struct {
	From, To           phalanx.NodeID
	FromPlace, ToPlace int
}

// Tree returns the live broadcast of an object, or the tree of the reduce that
// makes it. The facts that only a node knows are missing if it does not answer soon.
func (n *Node) Tree(ctx context.Context, id phalanx.ObjectID) (Tree, error) {
	l, err := n.use("tree", id)
	if err != nil {
		return Tree{}, err
	}
	st, err := n.Stat(ctx, id)
	if err != nil {
		return Tree{}, named(err, "tree")
	}
	t := Tree{Object: id, Kind: "broadcast", State: st.State.String(), Size: st.Meta.Size}
	if st.State == directory.Begun && st.Maker == directory.ByReduce {
		if seen, err := l.look(ctx, st.Origin, id); err == nil && len(seen.Places) > 0 {
			t.Kind = "reduce"
			t.reduce(seen)
			l.lookAtAll(ctx, t.Nodes, id, func(tn TreeNode, seen messages.Look) int64 {
				if tn.Origin {
					return seen.Held // the root's output is this node's copy of the target
				}
				for _, o := range seen.Outputs {
					if o.Place == tn.Place && o.Gen == tn.Gen {
						return o.Made
					}
				}
				return 0
			})
			return t, nil
		}
	}
	t.Hidden = st.Hidden
	for _, h := range st.Holders {
		t.Nodes = append(t.Nodes, TreeNode{Node: h.Node, Complete: h.Complete, Pinned: h.Pinned, Origin: h.Origin})
		if h.Upstream != "" {
			t.Edges = append(t.Edges, TreeEdge{From: h.Upstream, To: h.Node})
		}
	}
	l.lookAtAll(ctx, t.Nodes, id, func(_ TreeNode, seen messages.Look) int64 { return seen.Held })
	return t, nil
}

func (t *Tree) reduce(seen messages.Look) {
	t.Degree, t.Size, t.Hidden = seen.Degree, seen.Size, seen.Hidden
	at := map[int]phalanx.NodeID{}
	for _, p := range seen.Places {
		at[p.Place] = p.Node
		t.Nodes = append(t.Nodes, TreeNode{Node: p.Node, Place: p.Place, Source: p.Source, Gen: p.Gen, Empty: p.Empty, Origin: p.Parent < 0})
	}
	for _, p := range seen.Places {
		if to, ok := at[p.Parent]; ok {
			t.Edges = append(t.Edges, TreeEdge{From: p.Node, To: to, FromPlace: p.Place, ToPlace: p.Parent})
		}
	}
}

// lookFor bounds how long a tree waits for the reports of single nodes.
const lookFor = 500 * time.Millisecond

// lookAtAll asks each node, once, how far it has come.
func (l *life) lookAtAll(ctx context.Context, nodes []TreeNode, id phalanx.ObjectID, held func(TreeNode, messages.Look) int64) {
	of := map[phalanx.NodeID][]*TreeNode{}
	for i := range nodes {
		nodes[i].Held = -1
		of[nodes[i].Node] = append(of[nodes[i].Node], &nodes[i])
	}
	var all sync.WaitGroup
	for node, here := range of {
		all.Go(func() {
			seen, err := l.look(ctx, node, id)
			if err != nil {
				return
			}
			for _, tn := range here {
				tn.Held = held(*tn, seen)
			}
		})
	}
	all.Wait()
}

// look asks a node for its report on an object.
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

// seen is this node's report.
func (l *life) seen(id phalanx.ObjectID) messages.Look {
	seen := messages.Look{Held: l.store.Table.Held(id), Size: phalanx.UnknownSize}
	for _, m := range l.places.Made(id) {
		seen.Outputs = append(seen.Outputs, messages.LookOutput{Place: m.Place, Gen: m.Gen, Made: m.Bytes})
	}
	if t, ok := l.reduces.Tree(id); ok {
		seen.Degree, seen.Size = t.Degree, t.Size
		for _, p := range t.Places {
			seen.Places = append(seen.Places, messages.LookPlace(p))
		}
	}
	return seen
}

// looks is the actor that gives other nodes this node's reports.
func (l *life) looks(c actor.Context) {
	if m, ok := c.Message().(actors.Crash); ok {
		panic(m)
	}
	m, ok := c.Message().(*messages.LookRequest)
	if !ok || c.Sender() == nil {
		return
	}
	if id, err := messages.LookFromProto(m); err == nil {
		c.Respond(messages.LookReplyToProto(l.seen(id)))
	}
}
