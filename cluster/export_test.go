package cluster

import (
	"context"
	"errors"
	"slices"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/view"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// Oust has the voters remove a node that lives.
func (n *Node) Oust(node phalanx.NodeID) {
	n.life.Load().members.Propose(view.RemoveMember{Node: node, Dead: true})
}

// Part has a node break with another as if that were no member.
func (n *Node) Part(node phalanx.NodeID) {
	l := n.life.Load()
	was := l.view.Load()
	m, _ := was.Member(node)
	without := *was
	without.Members = slices.DeleteFunc(slices.Clone(was.Members), func(m view.Member) bool { return m.ID == node })
	l.view.Store(&without)
	l.part(m)
	l.view.Store(was)
}

// FailAtOnce has the node's actors stopped when they panic for the first time.
func (n *Node) FailAtOnce() { n.life.Load().vital.Limit = 0 }

// Fence has a node learn that it was removed, which it was not.
func (n *Node) Fence() { n.life.Load().onFenced() }

// WaitsForRoom reports whether somebody waits for memory.
func (n *Node) WaitsForRoom() bool { return n.budget.Missing() > 0 }

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

// WhyMoved is the cause of a ShardMoved.
var WhyMoved = whyMoved

// Die ends a node as if it had crashed.
func (n *Node) Die() { n.finish() }

// HandOver does what a node that leaves does before it is removed.
func (n *Node) HandOver(ctx context.Context) error { return n.life.Load().handOver(ctx) }

// Unlist has the owner of an object know nothing of this node's copy.
func (n *Node) Unlist(ctx context.Context, id phalanx.ObjectID) error {
	for _, h := range n.Here(id) {
		if _, err := n.ask(ctx, id, directory.Drop{Gen: h.Gen}); err != nil {
			return err
		}
	}
	return nil
}
