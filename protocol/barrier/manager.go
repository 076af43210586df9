package barrier

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	repl "github.com/phalanx-go/phalanx/protocol/replica"
	"github.com/phalanx-go/phalanx/protocol/retry"
)

// managing are the barriers that a node manages.
type managing struct {
	shelf
	leased    time.Duration           // until then this node is a member
	since     time.Duration           // when the term was learned
	gathering repl.Gathering[finding] // when it is done, every member heeds this term
	found     []finding
	handing   handing
	ignorant  bool // this incarnation, or this instance of its actor, has not gathered yet
	early     early
	batchTrip retry.Trip // from a batch to the confirmation of one backup

	tellings repl.Tellings[tale]         // answers to gathering primaries
	arriving repl.Arrivals[Key, arrival] // states that backups get in pieces
}

// newTerm begins when the members have changed: this node does not act before it has their
// knowledge.
func (c *Core) newTerm(number uint64) {
	c.terms.Term, c.since, c.found, c.early, c.batchTrip = number, c.now, nil, early{}, 0
	c.gathering.Reset()
	c.tellings.Reset()
	c.arriving.Reset()
	c.awaited = newAwaited()
	for _, k := range c.keys() {
		r := c.replicas[k]
		r.pending = append(r.flight, r.pending...)
		r.flight, r.spare = nil, nil
		r.backups.Forget()
		if c.primary(k) == c.view.Self {
			c.wake(r)
		} else {
			c.hand(r)
			c.outlive(r)
		}
	}
}

// refused says that a member knows of a later term: of a view that this node will
// learn, or that it has and in which nothing changed for it.
func (c *Core) refused(m Refused) {
	if c.terms.Begins(m.Term, c.view.Number) {
		c.newTerm(m.Term)
	}
}

// install makes replicas of the findings, the newest of each, and hears messages that came
// too early.
func (c *Core) install() {
	best := map[Key]Held{}
	age := map[Key]time.Duration{}
	for _, g := range c.found {
		for _, h := range g.replicas {
			old, ok := best[h.Key]
			if !ok || h.version().Newer(old.version()) {
				best[h.Key] = h
			}
			age[h.Key] = max(age[h.Key], h.State.Now+h.Age)
		}
	}
	for _, k := range sorted(best) {
		if !c.outlived(best[k], age[k]) {
			c.take(best[k], age[k])
		}
	}
	for _, g := range c.found {
		for _, h := range g.replicas {
			if r := c.replicas[h.Key]; r == nil {
				c.send(g.from, Forget{Key: h.Key, Term: c.terms.Term})
			} else if !slices.Contains(c.managers(h.Key), g.from) {
				r.spare = append(r.spare, g.from)
			}
		}
	}
	found := c.found
	c.found, c.ignorant = nil, false
	c.doubt(found)
	c.freeUnclaimed(found)
	for _, holders := range []bool{true, false} { // know all participants inside before admitting others
		for _, g := range found {
			for _, m := range g.reached {
				c.takeReached(g.from, m, holders)
			}
		}
	}
	c.hearEarly()
}

// outlived reports whether this node knows that the barrier of a replica that was found has fired. A
// former manager may have the state from before: it did not hear of it, and a backup would say the
// same (Confirm.Fired), but there may be none. clock is the barrier's: once the time after a removal is
// over, what this node remembers is of the barrier that followed, as in replicateOne.
func (c *Core) outlived(h Held, clock time.Duration) bool {
	return c.replicas[h.Key] == nil && h.State.Anew <= clock && c.past.knows(h.Key.digest())
}

// take becomes the primary of a replica that was found. If this node made its last batch itself
// and has not acted on it, because not all had confirmed it, it makes it again.
func (c *Core) take(h Held, clock time.Duration) {
	r := c.replicas[h.Key]
	was := phalanx.NodeID("")
	if r == nil {
		r = &replica{key: h.Key}
		c.put(r)
	} else {
		was = r.Primary
	}
	if r.b == nil || was != c.view.Self || h.Primary != c.view.Self {
		r.b = Restore(h.Config, h.State.Clone())
	}
	c.weigh(r)
	c.wake(r)
	r.Seq, r.base, r.began, r.touched, r.made = h.Seq, max(clock, r.b.Now), c.now, c.now, 0
	watched := r.b.Watcher != "" && slices.Contains(c.view.Members, r.b.Watcher)
	if watched && len(r.b.Asks) > 0 { // the time in which no node could ask does not count
		r.base = r.b.Now
	}
	r.backups.Forget()
	if was != c.view.Self {
		c.emit(TookOver{Key: h.Key, From: was, Term: c.terms.Term, Took: c.now - c.since, Standing: c.standing(r)})
	}
	r.Primary = c.view.Self
	var gone []Op // before anything is let through that is not there any more
	for _, n := range append(r.b.State.members(), r.b.Watcher) {
		if n != "" && !slices.Contains(c.view.Members, n) {
			gone = append(gone, Op{Kind: OpGone, Node: n})
		}
	}
	r.pending = slices.DeleteFunc(r.pending, func(op Op) bool { return op.Node != "" && !slices.Contains(c.view.Members, op.Node) })
	if watched {
		gone = append(gone, Op{Kind: OpWatch, Node: r.b.Watcher}) // it is asked again
	}
	r.pending = append(gone, append(r.pending, Op{Kind: OpAdvance})...) // at least something, so that the backups have it
}

// managingDue is when the primary or a gathering has to do something.
func (c *Core) managingDue() (at time.Duration, ok bool) {
	least := func(d time.Duration) {
		if !ok || d < at {
			at, ok = d, true
		}
	}
	if at, some := c.gathering.Due(c.pauses(0)); some {
		least(at)
	}
	if c.ignorant && !c.gathering.Begun() {
		least(c.leadAt())
	}
	if at, some := c.handOverDue(); some {
		least(at)
	}
	if at, some := c.askersDue.Due(); some {
		least(at)
	}
	if d, some := c.restsDue.Due(); some {
		least(d)
	}
	if d, some := c.replicasDue.Due(); some && c.gathering.Done() && c.now < c.leased { // else a message or a lease comes first
		least(d)
	}
	return at, ok
}
