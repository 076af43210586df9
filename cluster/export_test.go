package cluster

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/member"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/view"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// Patient has streams to a node wait for their turn however long it takes.
func Patient(c *Config) { c.turnWait = time.Hour }

// Oust has the voters remove a node that lives.
func (n *Node) Oust(node phalanx.NodeID) {
	n.life.Load().members.Propose(view.RemoveMember{Node: node, Dead: true})
}

// FenceAsTaken has a node learn that another process has taken its name.
func (n *Node) FenceAsTaken() {
	l := n.life.Load()
	with := *l.view.Load()
	with.Members = append(slices.Clone(with.Members), view.Member{ID: phalanx.MakeNodeID(l.id.Name(), 1)})
	l.view.Store(&with)
	l.onFenced()
}

// Part has a node break with another as if that were no member; with back, its process has come back
// at its address.
func (n *Node) Part(node phalanx.NodeID, back bool) {
	l := n.life.Load()
	was := l.view.Load()
	m, _ := was.Member(node)
	without := *was
	without.Members = slices.DeleteFunc(slices.Clone(was.Members), func(m view.Member) bool { return m.ID == node })
	if back {
		without.Members = append(without.Members, view.Member{ID: phalanx.MakeNodeID(node.Name(), 1), Control: m.Control})
	}
	l.view.Store(&without)
	l.part(member.Gone{Member: m, Lingers: m.Leaving})
	l.view.Store(was)
}

// FailAtOnce has the node's actors stopped when they panic for the first time.
func (n *Node) FailAtOnce() { n.life.Load().vital.Limit = 0 }

// Fence has a node learn that it was removed, which it was not.
func (n *Node) Fence() { n.life.Load().onFenced() }

// LoseMajority has a node see that the majority of the voters is lost, which it is not.
func (n *Node) LoseMajority() {
	n.life.Load().sees(view.Majority{Lost: true, Since: n.clock()})
}

// WaitsForRoom reports whether somebody waits for memory.
func (n *Node) WaitsForRoom() bool {
	requests, _ := n.budget.Waiting()
	return requests > 0
}

// Settled reports whether every shard has its replicas, and the owners of these
// objects, of which this node has no copy, know what all members hold.
func (n *Node) Settled(ctx context.Context, ids ...phalanx.ObjectID) bool {
	v := n.life.Load().view.Load()
	for _, s := range v.Shards {
		if s.Owner == "" || s.Backup == "" && len(v.Members) > 1 || s.Next != "" {
			return false
		}
	}
	for _, id := range ids {
		if _, err := n.ask(ctx, id, directory.Evict{}); err != nil {
			return false
		}
	}
	return true
}

// ask sends a request to the owner of an object, as a part of the node would.
func (n *Node) ask(ctx context.Context, id phalanx.ObjectID, body directory.Body) (directory.Result, error) {
	c := n.life.Load().client
	answers := make(chan directory.Result, 8)
	c.Request(id, c.Nums(1), body, func(_ phalanx.NodeID, r directory.Result) {
		if !r.Waiting {
			answers <- r
		}
	})
	select {
	case r := <-answers:
		if r.Kind != 0 {
			return r, &phalanx.Error{Object: id, Kind: r.Kind, Err: errors.New(r.Text)}
		}
		return r, nil
	case <-ctx.Done():
		return directory.Result{}, ctx.Err()
	}
}

// Finalise records a digest for what this node has begun to put.
func (n *Node) Finalise(ctx context.Context, id phalanx.ObjectID, digest phalanx.Digest) error {
	st, err := n.Stat(ctx, id)
	if err != nil {
		return err
	}
	_, err = n.ask(ctx, id, directory.Final{Gen: st.Gen, Meta: st.Meta, Digest: digest, Held: true})
	return err
}

// ReadAndVanish gets a lease, reads a little under it times times, each on a
// connection of its own, and says nothing to anybody.
func (n *Node) ReadAndVanish(ctx context.Context, id phalanx.ObjectID, times int) error {
	r, err := n.ask(ctx, id, directory.Locate{Room: 1 << 30, Wait: true})
	if err != nil {
		return err
	}
	for range times {
		s, err := n.life.Load().conns.Open(ctx, r.Sender, dataplane.Request{Kind: dataplane.Object, Object: id, Generation: r.Gen, Lease: r.Lease})
		if err != nil {
			return err
		}
		_, err = s.Read(make([]byte, 1000))
		s.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// AskAhead asks a node for the generation behind the one that it has, tells of
// every WAIT, and returns how the stream ends.
func (n *Node) AskAhead(ctx context.Context, sender phalanx.NodeID, id phalanx.ObjectID, wait func(path []phalanx.NodeID)) error {
	st, err := n.Stat(ctx, id)
	if err != nil {
		return err
	}
	st.Gen.Seq++
	s, err := n.life.Load().conns.Open(ctx, sender, dataplane.Request{Kind: dataplane.Object, Object: id, Generation: st.Gen})
	if err != nil {
		return err
	}
	defer s.Close()
	s.OnWait(wait)
	_, err = s.Read(make([]byte, 1))
	return err
}

// Here returns what this node has of an object.
func (n *Node) Here(id phalanx.ObjectID) []directory.Holding {
	all := n.life.Load().store.Table.Everything()
	return slices.DeleteFunc(all, func(h directory.Holding) bool { return h.Object != id })
}

// Die ends a node as if it had crashed.
func (n *Node) Die() { n.Close() }

// Unlist has the owner of an object know nothing of this node's copy.
func (n *Node) Unlist(ctx context.Context, id phalanx.ObjectID) error {
	for _, h := range n.Here(id) {
		if _, err := n.ask(ctx, id, directory.Drop{Gen: h.Gen}); err != nil {
			return err
		}
	}
	return nil
}

// BreakData breaks the data connections to another node.
func (n *Node) BreakData(node phalanx.NodeID) { n.life.Load().conns.ClosePeer(node) }

// Held returns how many checked bytes of an object are here.
func (n *Node) Held(id phalanx.ObjectID) int64 { return n.table.Held(id) }

// Holding returns what the node would tell a new owner about its copy of an object.
func (n *Node) Holding(id phalanx.ObjectID) directory.Holding {
	for _, h := range n.table.Everything() {
		if h.Object == id {
			return h
		}
	}
	return directory.Holding{}
}

// Accuse tells the owner of an object that its final bytes have another digest than
// was recorded.
func (n *Node) Accuse(ctx context.Context, id phalanx.ObjectID, gen phalanx.Generation) error {
	_, err := n.ask(ctx, id, directory.Corrupt{Gen: gen, Digest: phalanx.Digest{1}})
	return err
}

// PutInline puts small bytes with a digest of the caller's.
func (n *Node) PutInline(ctx context.Context, id phalanx.ObjectID, data []byte, digest phalanx.Digest) error {
	_, err := n.ask(ctx, id, directory.PutInline{Meta: phalanx.Meta{Size: int64(len(data))}, Digest: digest, Bytes: data})
	return err
}

// LeaveAsItIsRemoved is Leave of a node that learns of its removal after it has stopped
// joining again by itself, and before it has begun to hand over.
func (n *Node) LeaveAsItIsRemoved(ctx context.Context) error {
	n.giveUpJoining()
	l := n.life.Load()
	l.onFenced()
	stays, err := l.leave(ctx)
	if stays {
		n.stay(l)
	}
	return err
}

// Unanswered has the node hear that the leader of the voters does not reply.
func (n *Node) Unanswered(leader phalanx.NodeID) { n.life.Load().unanswered(leader) }
