package group

import (
	"maps"
	"slices"
)

// Call is a call of the application. Its ID is not used twice, and is 0 for calls without an
// answer: Revoke and Close.
type Call struct {
	ID    uint64
	Kind  CallKind
	Group string
	Rank  int // of the caller

	Roster       *Roster // of a Form
	Contribution         // of Agree, and Grow's newcomers
	Label        string  // of an Await
	Revocation           // of a Revoke
}

// CallKind is the kind of a Call.
type CallKind uint8

// The kinds of calls.
const (
	CallForm  CallKind = iota + 1
	CallAwait          // the next group that this member is invited to
	CallAgree          // also Shrink and Grow, as Contribution.For says
	CallRevoke
	CallClose
)

// GiveUp ends a call. Its contribution stands.
type GiveUp struct{ ID uint64 }

func (Call) event()   {}
func (GiveUp) event() {}

// Done ends a call. Group, Roster and Rank belong to the new group, if the call has
// made one.
type Done struct {
	ID       uint64
	Outcome  Outcome
	Group    string
	Life     uint64 // tells groups of one name apart, one after the other
	Roster   *Roster
	Rank     int
	Decision Decision
	Failed   []int // of the new group, already
}

// GivenUp ends a call that was given up. It says whose contribution is missing, as far
// as that is known.
type GivenUp struct {
	ID     uint64
	Absent []string
}

func (Done) output()    {}
func (GivenUp) output() {}

// Outcome is how a call ends.
type Outcome uint8

// The outcomes.
const (
	OK         Outcome = iota
	Mismatch           // the calls of the members differ: Decision.Mismatch, or for a Form the members
	Used               // members of an earlier group of that name are left, or others have formed it without waiting
	NotMember          // there is no such group here, or the rank has left it
	LeftBehind         // it counted as failed when it was decided
	Removed            // the cluster has removed this node
)

// call is a call that waits.
type call struct {
	Call
	on *agreement // nil: an Await without an invitation
}

// called takes a call.
func (c *Core) called(e Call) {
	c.touch(c.groups[e.Group])
	switch e.Kind {
	case CallForm:
		c.calls[e.ID] = &call{Call: e}
		c.form(c.calls[e.ID])
	case CallAwait:
		c.calls[e.ID] = &call{Call: e}
		c.await(c.calls[e.ID])
	case CallAgree:
		c.agree(e)
	case CallRevoke:
		if g := c.groups[e.Group]; g != nil {
			c.wave(g, []Hop{{nobody, e.Rank}}, e.Revocation)
		}
	case CallClose:
		c.close(e)
	}
}

// form has a member contribute to the forming of a group.
func (c *Core) form(w *call) {
	g := c.groups[w.Group]
	if g != nil && g.decline {
		a := g.agreed[0]
		if _, knows := a.mine[w.Rank]; !knows && g.roster.digest == w.Roster.digest { // it hears so once, as the others have
			a.mine[w.Rank] = Contribution{}
			c.finish(w, Done{Outcome: Mismatch, Decision: *a.decided})
			return
		}
		c.drop(g)
		g = nil
	}
	switch {
	case g != nil && g.formed:
		c.formAgain(g, w)
		return
	case g == nil:
		g = c.know(w.Group, w.Roster)
	case g.roster.digest != w.Roster.digest:
		c.finish(w, Done{Outcome: Mismatch, Decision: differ})
		return
	}
	c.join(g, 0, w, Contribution{For: ForForm, Quorum: w.Quorum})
}

// agree has a member contribute to its next agreement.
func (c *Core) agree(e Call) {
	g := c.groups[e.Group]
	w := &call{Call: e}
	c.calls[e.ID] = w
	if g == nil || !g.formed || !g.taken[e.Rank] || g.gone[e.Rank] {
		c.finish(w, Done{Outcome: NotMember})
		return
	}
	seq := g.next[e.Rank]
	g.next[e.Rank]++
	c.join(g, seq, w, e.Contribution)
}

// join has a call wait for an agreement, and contribute to it.
func (c *Core) join(g *group, seq uint64, w *call, part Contribution) {
	c.touch(g)
	w.Roster = g.roster
	a := g.agreement(seq)
	if id, waits := a.callers[w.Rank]; waits && id != w.ID { // its place is taken
		c.finish(c.calls[id], Done{Outcome: Used})
	}
	w.on = a
	a.mine[w.Rank] = part
	a.callers[w.Rank] = w.ID
	if a.decided != nil { // a Form that others have given up to wait for
		c.finish(w, Done{Outcome: Used})
		return
	}
	c.contribute(g, a, c.coordinator(g))
}

// finish ends a call.
func (c *Core) finish(w *call, d Done) {
	d.ID = w.ID
	delete(c.calls, w.ID)
	w.forget()
	c.emit(d)
}

// forget takes a call from the agreement that it waits for.
func (w *call) forget() {
	if w.on != nil && w.on.callers[w.Rank] == w.ID {
		delete(w.on.callers, w.Rank)
	}
	w.on = nil
}

func (c *Core) giveUp(id uint64) {
	w := c.calls[id]
	if w == nil {
		return
	}
	given := GivenUp{ID: id}
	g := c.groups[w.Group]
	c.touch(g)
	switch {
	case w.on != nil:
		given.Absent = w.on.roster.Names(w.on.absent)
	case w.Kind == CallForm && g != nil: // it waits for an earlier group's end
		c.unhold(w)
		given.Absent = g.roster.Names(g.left(maxAbsent))
	}
	delete(c.calls, id)
	on := w.on
	w.forget()
	c.emit(given)
	if on != nil && on.seq == 0 && (len(on.callers) == 0 || w.AtLeast > 0) && g != nil && g.agreed[0] == on {
		c.idle(g, on)
	}
}

// close has a member leave a group.
func (c *Core) close(e Call) {
	g := c.groups[e.Group]
	if g == nil || !slices.Contains(g.local, e.Rank) {
		return
	}
	for _, seq := range slices.Sorted(maps.Keys(g.agreed)) {
		id, waits := g.agreed[seq].callers[e.Rank]
		if w := c.calls[id]; waits && w.Kind == CallAgree {
			c.finish(w, Done{Outcome: NotMember})
		}
	}
	c.depart(g, []int{e.Rank})
	c.retire(g)
}

// depart tells all that members here have left.
func (c *Core) depart(g *group, ranks []int) {
	if len(ranks) == 0 {
		return
	}
	c.leave(g, ranks)
	for _, node := range g.roster.nodes {
		if node != c.view.Self {
			c.tell(node, Gone{Named: g.named(), Ranks: ranks})
		}
	}
}
