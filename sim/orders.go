package sim

import (
	"slices"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/copies"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// pushed carries out an order of an owner; twice is the same as once.
func (n *node) pushed(from phalanx.NodeID, shard int, p directory.Push) {
	c, root := n.table[p.Object], n.reduces.root(p.Object)
	here := n.standing(c, root, p)
	epoch := n.client.epoch(p.Object)
	if copies.Forwarded(p, epoch) {
		n.forward(p)
	}
	v := copies.Obey(p, epoch, here)
	if v == (copies.Verdict{}) {
		n.w.met["order of a former epoch"]++
	}
	switch {
	case v.Check:
		n.check(p)
	case v.Fetch:
		n.fetchOrdered(p)
	case v.Spare:
		n.spare(p)
	case v.Settle:
		root.settle(p.Gen, p.Digest)
	}
	switch {
	case v.Drop == copies.Stays:
	case here.Origin && root.root != nil:
		n.w.met["root dropped before it is kept"]++
		root.hide(phalanx.Generation{})
	case c != nil && !c.gone:
		n.drop(c)
	}
	if v.Announce {
		c.again = true
		n.announceComplete(c)
	}
	if !v.Gone.IsZero() {
		if p.Order == directory.PushFinal {
			n.w.met["final root is gone"]++
		}
		n.client.report(p.Object, directory.Drop{Gen: v.Gone}, nil)
	}
	if v.Ack {
		n.post(from, toShard{shard, directory.PushAcked{From: n.id, Object: p.Object, Seq: p.Seq}})
	}
}

// standing says what the node has of an object: the newer one of its complete copy and of what a
// root makes.
func (n *node) standing(c *copied, root *place, p directory.Push) copies.Here {
	h := copies.Here{Leaves: n.refuses, Busy: slices.ContainsFunc(n.creates, func(c *create) bool { return c.object == p.Object }) ||
		slices.ContainsFunc(n.makers, func(m *maker) bool { return m.object == p.Object })}
	if f := n.fetches[p.Object]; f != nil {
		h.Busy, h.Awaited = true, slices.ContainsFunc(f.callers, func(c *call) bool { return c.pin == p.Gen })
	}
	switch {
	case root != nil && (c == nil || c.gen.Less(root.root.gen)):
		h.Gen, h.Origin = root.root.gen, true
	case c != nil:
		h.Gen, h.Whole = c.gen, true
	}
	return h
}

// forward hands an order to who works on the object.
func (n *node) forward(p directory.Push) {
	if f := n.fetches[p.Object]; f != nil {
		f.pushed(p)
	}
	for _, c := range slices.Clone(n.creates) {
		if c.object == p.Object {
			c.pushed(p)
		}
	}
	for _, m := range slices.Clone(n.makers) {
		if m.object == p.Object {
			m.pushed(p)
		}
	}
}

// fetchOrdered fetches an object in order to keep it, pinned.
func (n *node) fetchOrdered(p directory.Push) {
	n.w.met["copy ordered"]++
	if c := n.table[p.Object]; c != nil {
		if c.gen == p.Gen {
			c.pinned, c.copies = true, max(c.copies, p.Copies)
			n.announceComplete(c)
		}
		return
	}
	c := n.w.call("copy", n, p.Object)
	c.pin, c.copies = p.Gen, p.Copies
	n.w.fetch(c, true)
	if !c.ended {
		n.w.bound(c, patience, phalanx.ErrDeadline)
	}
}

// spare ends what fetchOrdered has begun.
func (n *node) spare(p directory.Push) {
	for _, c := range slices.Clone(n.fetches[p.Object].callers) {
		if c.pin == p.Gen {
			n.w.met["copy that was ordered is not needed"]++
			c.leave(errorf(phalanx.ErrCanceled, c.object, "enough other nodes have a copy"))
		}
	}
}
