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

// pushed routes an order of an owner to whoever works on the object, carries
// out what is left, and acknowledges.
func (s *Store) pushed(c actor.Context, p Pushed) {
	env, epoch := s.env, s.env.Directory.Epoch(p.Object)
	a, makers := s.arrival(p.Object), s.env.makers(p.Object)
	here := copies.Here{Busy: a != nil || len(makers) > 0, Awaited: s.awaited(a, p), Leaves: env.Leaves()}
	if copies.Forwarded(p.Push, epoch) {
		s.forward(c, a, makers, p)
		env.noteOrder(p.Push) // before the table is looked at: whoever enters a copy after this looks
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
	if v.Drop != copies.Stays && p.Outdated(env.Directory.Epoch(p.Object)) { // another owner may have heard of it meanwhile
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

// obey decides about an order, and drops the copy that it is about if it goes.
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

// forward hands an order to who works on the object.
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

// ended returns what readers of a copy hear that goes for an owner.
func (e *Env) ended(why copies.Why, gen phalanx.Generation) error {
	switch why {
	case copies.Deleted:
		return errDeletedHere(e.Self)
	case copies.Reset:
		return &dataplane.Ended{Reason: dataplane.Reset, Generation: gen, Node: e.Self}
	}
	return &dataplane.Ended{Reason: dataplane.Gone, Kind: phalanx.ErrAborted, Node: e.Self}
}

// announceAgain tells the owner that c is complete. Leave to evict it that was asked for
// before is void.
func (s *Store) announceAgain(c *objectCopy) {
	c.again.Store(true)
	s.env.report(c.Object, c.Announcement(s.env.Table.isPinned(c)))
	if s.env.Table.isDropped(c) { // by leave that was asked for before
		s.env.reportDrop(c.Object, c.Gen)
	}
}

// settleOrigin makes the copy of an origin complete: the root of a reduce hears
// here that its target is final. It is pinned, as the copy of a Put is.
func (s *Store) settleOrigin(p originFinal) {
	if c := s.env.Table.settles(p); c != nil {
		s.env.keepOrigin(c, p.meta, p.digest, !c.Ring)
	}
}

// keepOrigin makes a copy complete that was made here. In this order: see copies.Announcement.
func (e *Env) keepOrigin(c *objectCopy, meta phalanx.Meta, digest phalanx.Digest, pinned bool) {
	e.report(c.Object, c.Announcement(pinned))
	if !e.Table.finish(c, meta, digest, pinned) {
		e.reportDrop(c.Object, c.Gen)
	}
}

// fetchOrdered fetches an object in order to keep it, pinned. An order that comes late, of a
// generation that is no more, pins nothing of the present one.
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

// awaited reports whether a call waits for the copy which p orders or spares. One that p
// orders again waits for longer from now on.
func (s *Store) awaited(a *arrival, p Pushed) bool {
	if a == nil || p.Order != directory.PushCopy && p.Order != directory.PushSpare {
		return false
	}
	all := a.waiting()
	i := slices.IndexFunc(all, func(cl *call) bool { return cl.pin == p.Gen })
	return i >= 0 && (p.Order == directory.PushSpare || all[i].timer.Reset(copies.OrderLasts)) // else its deadline has passed
}

// spare ends what fetchOrdered has begun. Other calls of this node that wait for the object
// go on.
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

// pin keeps c until it is deleted, if cl is to pin that generation and unless the node
// leaves: whoever relied on it then would do so after the last look at what is here.
func (e *Env) pin(cl *call, c *objectCopy) { e.Table.want(c, cl.pin, e.Leaves) }
