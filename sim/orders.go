package sim

import (
	"slices"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/copies"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// pushed carries out an owner's order. A second delivery changes nothing.
func (n *node) pushed(from phalanx.NodeID, shard int, p directory.Push) {
	here := copies.Here{Leaves: n.refuses, Busy: n.puts(p.Object)}
	if f := n.fetches[p.Object]; f != nil {
		here.Busy = true
		if i := slices.IndexFunc(f.callers, func(c *call) bool { return c.pin == p.Gen }); i >= 0 {
			here.Awaited = true
			if p.Order == directory.PushCopy {
				f.callers[i].again = n.w.now
			}
		}
	}
	epoch := n.client.epoch(p.Object)
	if copies.Forwarded(p, epoch) {
		n.forward(p)
		n.creates.Order(p)
	}
	c := n.table.Of(p.Object)
	v := copies.Obey(p, epoch, here.Of(c))
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
		n.settle(p)
	}
	if v.Drop != copies.Stays {
		n.w.met["dropped by order"]++
		n.table.Drop(c, &copies.Ended{Why: v.Drop, Gen: p.Gen})
	}
	if v.Announce {
		copyOf(c).again = true
		n.client.report(c.Object, c.Announcement(c.Pinned), nil)
	}
	if !v.Gone.IsZero() {
		if p.Order == directory.PushFinal {
			n.w.met["final root is gone"]++
		}
		n.reportDrop(p.Object, v.Gone)
	}
	if v.Ack {
		n.post(from, toShard{shard, directory.PushAcked{From: n.id, Object: p.Object, Seq: p.Seq}})
	}
}

// puts reports whether a Put or a maker works on an object.
func (n *node) puts(id phalanx.ObjectID) bool {
	return n.creates.Has(id) ||
		slices.ContainsFunc(n.makers, func(m *maker) bool { return m.object == id })
}

// forward hands an order to the fetch, Puts and makers of its object.
func (n *node) forward(p directory.Push) {
	if f := n.fetches[p.Object]; f != nil {
		f.pushed(p)
	}
	for _, c := range n.creates.Of(p.Object) {
		c.pushed(p)
	}
	for _, m := range slices.Clone(n.makers) {
		if m.object == p.Object {
			m.pushed(p)
		}
	}
}

// fetchOrdered fetches an object as an owner has ordered, and pins the copy.
func (n *node) fetchOrdered(p directory.Push) {
	n.w.met["copy ordered"]++
	c := n.w.call("copy", n, p.Object)
	c.pin, c.copies = p.Gen, p.Copies
	n.w.fetch(c, true)
	if !c.ended {
		n.w.bound(c, copies.OrderLasts, phalanx.ErrDeadline)
	}
}

// spare ends the fetch of a copy that fetchOrdered has begun.
func (n *node) spare(p directory.Push) {
	for _, c := range slices.Clone(n.fetches[p.Object].callers) {
		if c.pin == p.Gen {
			n.w.met["copy that was ordered is not needed"]++
			c.leave(errorf(phalanx.ErrCanceled, c.object, "enough other nodes have a copy"))
		}
	}
}
