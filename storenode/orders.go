package storenode

import (
	"errors"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/transfer"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// pushed routes an order of an owner to whoever works on the object, carries
// out what is left, and acknowledges.
func (s *Store) pushed(c actor.Context, p Pushed) {
	env := s.env
	switch p.Order {
	case directory.PushCopy:
		s.copyOrder(c, p)
		return
	case directory.PushSpare:
		s.spared(c, p)
		return
	case directory.PushCheck:
		env.check(p.Object, p.Gen)
		return
	}
	if p.Outdated(env.Directory.Epoch(p.Object)) {
		return // not even acknowledged: the owner repeats in the new epoch what still counts
	}
	order := pushed{transfer.Pushed{Order: transfer.Order(p.Order), Gen: p.Gen, Meta: p.Meta, Digest: p.Digest}}
	busy := false
	if a := s.arrival(p.Object); a != nil {
		s.tell(c, a, order)
		busy = true
	}
	for _, pid := range env.makers(p.Object) {
		env.send(pid, order)
		busy = true
	}
	switch {
	case p.Order == directory.PushFinal && !busy && env.Table.lookup(p.Object) == nil: // a root that has been lost since
		env.report(p.Object, directory.Drop{Gen: p.Gen})
	case p.Order == directory.PushFinal:
		s.settleOrigin(originFinal{p.Object, p.Gen, p.Meta, p.Digest})
		if c := env.Table.lookup(p.Object); c != nil && c.gen == p.Gen && !c.origin && c.isOver() { // the owner does not know that it is complete
			c.again.Store(true)
			env.report(p.Object, directory.Announce{Gen: p.Gen, Complete: true, Pinned: env.Table.isPinned(c)})
			if env.Table.isDropped(c) { // by leave that was asked for before
				env.report(p.Object, directory.Drop{Gen: p.Gen})
			}
		}
	case p.Order == directory.PushDrop:
		env.noteDelete(p.Object, p.Gen) // before: whoever enters a copy after this looks
		if c := env.Table.dropObject(p.Object, p.Gen, errDeletedHere(env.Self)); c != nil {
			s.reportOutdated(p, c)
		}
	case p.Order == directory.PushAbort:
		s.aborted(p, busy)
	case p.Order == directory.PushReset:
		// A fetch or Put that is busy drops its part itself. A complete copy may be that of a fetch that has just ended.
		if c := env.Table.lookup(p.Object); c != nil && c.gen.Less(p.Gen) && (!busy || c.isOver()) {
			env.Table.drop(c, &dataplane.Ended{Reason: dataplane.Reset, Generation: p.Gen, Node: env.Self})
			s.reportOutdated(p, c)
		}
	}
	env.Directory.Tell(p.From, p.Object, directory.PushAcked{From: env.Self, Object: p.Object, Seq: p.Seq})
}

// reportOutdated tells that c is gone if another owner than the one that had it dropped may
// have heard of it meanwhile.
func (s *Store) reportOutdated(p Pushed, c *objectCopy) {
	if p.Outdated(s.env.Directory.Epoch(p.Object)) {
		s.env.report(p.Object, directory.Drop{Gen: c.gen})
	}
}

// aborted drops what an owner takes back. Of a complete copy the owner is told that it is
// gone: a report that it is complete may be on its way.
func (s *Store) aborted(p Pushed, busy bool) {
	env := s.env
	gone := &dataplane.Ended{Reason: dataplane.Gone, Kind: phalanx.ErrAborted, Node: env.Self}
	c := env.Table.lookup(p.Object)
	whole := c != nil && c.isOver()
	if busy && !whole { // who is busy drops it
		return
	}
	if c := env.Table.dropObject(p.Object, p.Gen, gone); c != nil && whole {
		env.report(p.Object, directory.Drop{Gen: c.gen})
	}
}

// settleOrigin makes the copy of an origin complete: the root of a reduce hears
// here that its target is final. It is pinned, as the copy of a Put is.
func (s *Store) settleOrigin(p originFinal) {
	env := s.env
	c := env.Table.lookup(p.object)
	if c == nil || c.gen != p.gen || !c.origin || c.buffer == nil {
		return
	}
	if digest, ok := c.buffer.Digest(); !ok || digest != p.digest {
		return
	}
	// In this order: once it is complete, leave to evict it may be asked for.
	env.report(p.object, directory.Announce{Gen: p.gen, Complete: true, Pinned: !c.ring})
	if !env.Table.finish(c, p.meta, p.digest, !c.ring) {
		env.report(p.object, directory.Drop{Gen: p.gen})
	}
}

// orderLasts is how long an order to copy counts. The owner repeats it every second
// for as long as it is needed, and may die.
const orderLasts = 10 * time.Second

// copyOrder fetches an object in order to keep it, pinned. An order that comes late, of a
// generation that is no more, pins nothing of the present one.
func (s *Store) copyOrder(c actor.Context, p Pushed) {
	env := s.env
	if !s.ordered(p) && !env.Leaves() { // else the owner asks another, when it knows
		s.begin(c, &call{op: "copy", object: p.Object, wait: true, pin: p.Gen, deliver: func(g any) {
			if got := g.(*Got); got.View != nil {
				if c := got.View.copy; c.gen == p.Gen && env.Table.isPinned(c) {
					env.Table.keepCopies(p.Object, c.gen, p.Copies)
					env.report(p.Object, directory.Announce{Gen: c.gen, Complete: true, Pinned: true})
				}
				got.View.Release()
			}
		}}, orderLasts)
	}
	env.Directory.Tell(p.From, p.Object, directory.PushAcked{From: env.Self, Object: p.Object, Seq: p.Seq})
}

// ordered reports whether this node awaits the copy that p orders, and if so awaits it for
// longer.
func (s *Store) ordered(p Pushed) bool {
	a := s.arrival(p.Object)
	if a == nil {
		return false
	}
	all := a.waiting()
	i := slices.IndexFunc(all, func(cl *call) bool { return cl.pin == p.Gen })
	return i >= 0 && all[i].timer.Reset(orderLasts) // else its deadline has passed
}

// spared ends the call that copyOrder has begun. Other calls of this node that wait for
// the object go on.
func (s *Store) spared(c actor.Context, p Pushed) {
	if a := s.arrival(p.Object); a != nil {
		for _, cl := range a.waiting() {
			if cl.pin == p.Gen {
				cl.answer(nil, nil, &phalanx.Error{Node: s.env.Self, Kind: phalanx.ErrCanceled, Err: errors.New("enough others have a copy")})
				s.left(c, left{p.Object, cl.id})
			}
		}
	}
	s.env.Directory.Tell(p.From, p.Object, directory.PushAcked{From: s.env.Self, Object: p.Object, Seq: p.Seq})
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
func (e *Env) pin(cl *call, c *objectCopy) {
	e.Table.mu.Lock()
	defer e.Table.mu.Unlock()
	if cl.pin == c.gen && !e.Leaves() {
		e.Table.pinLocked(c)
	}
}
