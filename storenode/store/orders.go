package store

import (
	"errors"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/copies"
	"github.com/phalanx-go/phalanx/node/owner"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/transfer"
	"github.com/phalanx-go/phalanx/storenode"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// pushed hands an order of an owner to the fetch and the Puts of the object, carries out the
// rest, and acknowledges.
func (s *Store) pushed(c actor.Context, p Pushed) {
	env, epoch := s.env, s.env.Directory.Epoch(p.Object)
	a, makers := s.arrival(p.Object), s.env.makers(p.Object)
	here := copies.Here{Busy: a != nil || len(makers) > 0, Awaited: s.awaited(a, p), Leaves: env.Leaves()}
	if copies.Forwarded(p.Push, epoch) {
		s.forward(c, a, makers, p)
		env.noteOrder(p.Push) // before obey reads the table: a Put that enters a copy later reads this note
	}
	v, mine := env.obey(p.Push, epoch, here)
	switch {
	case v.Check:
		env.check(p.Object, p.Gen)
	case v.Fetch:
		s.fetchOrdered(c, p)
	case v.Spare:
		s.spare(c, p, a)
	case v.Settle:
		s.settleOrigin(originFinal{p.Object, p.Gen, p.Meta, p.Digest})
	}
	if v.Drop != copies.Stays && p.Outdated(env.Directory.Epoch(p.Object)) { // a new owner may list the copy meanwhile
		v.Gone = mine.Gen
	}
	if v.Announce {
		s.announceAgain(mine)
	}
	if !v.Gone.IsZero() {
		env.reportDrop(p.Object, v.Gone)
	}
	if v.Ack {
		env.Directory.Tell(p.From, p.Object, directory.PushAcked{From: env.Self, Object: p.Object, Seq: p.Seq})
	}
}

// obey decides about an order, and drops the copy if the order says so.
func (e *Env) obey(p directory.Push, epoch uint64, here copies.Here) (copies.Verdict, *objectCopy) {
	t := e.Table
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.core.Of(p.Object)
	v := copies.Obey(p, epoch, here.Of(c))
	if v.Drop != copies.Stays {
		t.core.Drop(c, e.ended(v.Drop, p.Gen))
	}
	return v, copyOf(c)
}

// forward hands an order to the fetch and the Puts of the object.
func (s *Store) forward(c actor.Context, a *arrival, makers []*actor.PID, p Pushed) {
	heard, _ := owner.Order(p.Push)
	order := pushed{heard}
	if a != nil {
		s.tell(c, a, order)
	}
	for _, pid := range makers {
		s.env.send(pid, order)
	}
}

// ended returns the error for readers of a copy that an owner's order drops.
func (e *Env) ended(why copies.Why, gen phalanx.Generation) error {
	switch why {
	case copies.Deleted:
		return errDeletedHere(e.Self)
	case copies.Reset:
		return &dataplane.Ended{Reason: dataplane.Reset, Generation: gen, Node: e.Self}
	}
	return &dataplane.Ended{Reason: dataplane.Gone, Kind: phalanx.ErrAborted, Node: e.Self}
}

// announceAgain tells the owner that c is complete. It voids leave to evict c that the node
// has asked for before.
func (s *Store) announceAgain(c *objectCopy) {
	c.again.Store(true)
	s.env.report(c.Object, c.Announcement(s.env.Table.isPinned(c)))
	if s.env.Table.isDropped(c) { // the evictor has dropped it, by leave that it asked for before
		s.env.reportDrop(c.Object, c.Gen)
	}
}

// settleOrigin makes the copy of an origin complete: the root of a reduce hears here that
// its target is final. The copy is pinned, as that of a Put.
func (s *Store) settleOrigin(p originFinal) {
	if c := s.env.Table.settles(p); c != nil {
		s.env.keepOrigin(c, p.meta, p.digest, !c.Ring)
	}
}

// keepOrigin makes a copy of this node's own making complete. It announces the copy first, for
// the reason that the method copies.Copy.Announcement gives.
func (e *Env) keepOrigin(c *objectCopy, meta phalanx.Meta, digest phalanx.Digest, pinned bool) {
	e.report(c.Object, c.Announcement(pinned))
	if !e.Table.finish(c, meta, digest, pinned) {
		e.reportDrop(c.Object, c.Gen)
	}
	e.dropChanged(c)
}

// fetchOrdered fetches an object in order to keep it, pinned. A late order for an earlier
// generation does not pin the present one.
func (s *Store) fetchOrdered(c actor.Context, p Pushed) {
	env := s.env
	s.begin(c, &call{op: "copy", object: p.Object, wait: true, pin: p.Gen, deliver: func(g any) {
		if got := g.(*storenode.Got); got.View != nil {
			if c := env.Table.obeyed(p); c != nil {
				env.report(p.Object, c.Announcement(true))
			}
			got.View.Release()
		}
	}}, copies.OrderLasts)
}

// awaited reports whether a call waits for the copy that p orders or spares. If p orders the
// copy again, the call's time begins anew.
func (s *Store) awaited(a *arrival, p Pushed) bool {
	if a == nil || p.Order != directory.PushCopy && p.Order != directory.PushSpare {
		return false
	}
	all := a.waiting()
	i := slices.IndexFunc(all, func(cl *call) bool { return cl.pin == p.Gen })
	return i >= 0 && (p.Order == directory.PushSpare || all[i].timer.Reset(copies.OrderLasts)) // else its deadline has passed
}

// spare ends the call of fetchOrdered. Other calls of this node for the object go on.
func (s *Store) spare(c actor.Context, p Pushed, a *arrival) {
	for _, cl := range a.waiting() {
		if cl.pin == p.Gen {
			cl.answer(nil, nil, &phalanx.Error{Node: s.env.Self, Kind: phalanx.ErrCanceled, Err: errors.New("enough other nodes have a copy")})
			s.left(c, left{p.Object, cl.id})
		}
	}
}

// leaseAsked tells whether this node reads under a lease. While a Locate waits for
// its answer the lease may be on its way.
func (s *Store) leaseAsked(c actor.Context, m LeaseAsked) {
	a := s.arrival(m.Object)
	known := a != nil && a.locating.Load() || s.env.Table.leased(m.Object, m.Lease)
	if a != nil && m.Move {
		s.tell(c, a, transfer.Move{Lease: m.Lease, Held: s.env.Table.Held(m.Object)})
	}
	s.env.Directory.Tell(m.From, m.Object, directory.LeaseKnown{From: s.env.Self, Object: m.Object, Lease: m.Lease, Known: known})
}

// pin keeps c until it is deleted, if cl is to pin that generation and the node does not
// leave. The owner would rely on a leaving node's copy after the node has listed the copies
// that it hands over.
func (e *Env) pin(cl *call, c *objectCopy) { e.Table.want(c, cl.pin, e.Leaves) }
