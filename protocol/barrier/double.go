package barrier

import (
	"slices"

	"github.com/phalanx-go/phalanx"
)

// Participants that have passed a double barrier leave it together: each calls Leave, and goes on
// when all participants inside have called it. None waits for participants whose nodes are gone.

// leaves reports whether all its requests are for participants that leave.
func (m *Reached) leaves() bool {
	return len(m.Requests) > 0 && !m.Watch && !m.Unwatch && !slices.ContainsFunc(m.Requests, func(q Request) bool { return !q.Leave })
}

// nobodyInside answers participants that leave an unknown barrier: its managers have died, or
// the participants have never passed it.
func (c *Core) nobodyInside(from phalanx.NodeID, m Reached) {
	a := Answers{Key: m.Key, Term: c.terms.Term, Stamp: m.Stamp}
	for _, q := range m.Requests {
		a.List = append(a.List, Answered{Entry: q.Entry, Attempt: q.Attempt, Verdict: Doubtful})
	}
	c.sendAnswers(from, a)
}

// leave takes note that an entry leaves.
func (b *Barrier) leave(op Op) {
	i, known := b.index[op.Entry]
	var e *Entrance
	if known {
		e = &b.Entrances[i]
	}
	answer := func(v Verdict) {
		b.emit(Answer{Nodes: []phalanx.NodeID{op.Node}, Entry: op.Entry, Attempt: op.Attempt, Verdict: v})
	}
	switch {
	case b.Doubt:
		answer(Doubtful)
	case known && e.Phase == Left && e.Leaving:
		answer(Departed)
	case !known && b.outlived(op):
		answer(Deleted)
	case !known || e.Phase != Through || !b.cfg.Double:
		answer(Outside)
	default:
		e.came(op.Node, op.Attempt)
		e.Attempt, e.Leaving = max(e.Attempt, op.Attempt), true
		answer(Leaving)
		b.depart()
	}
}

// outlived reports whether an entry was inside when the barrier was removed.
func (b *Barrier) outlived(op Op) bool {
	_, ok := b.tombs[grave{op.Entry, op.Node}]
	return ok
}

// inside reports whether a participant is inside a double barrier.
func (b *Barrier) inside() bool {
	return b.cfg.Double && slices.ContainsFunc(b.Entrances, func(e Entrance) bool { return e.Phase == Through && len(e.Nodes) > 0 })
}

// stays reports whether an entry is inside and does not leave yet.
func (e *Entrance) stays() bool { return e.Phase == Through && !e.Leaving && len(e.Nodes) > 0 }

// someStay reports whether a participant is inside and does not leave yet. It looks first at the
// one that it has found last, so that it costs little however many there are.
func (b *Barrier) someStay() bool {
	for k := range b.Entrances {
		if i := (b.stayer + k) % len(b.Entrances); b.Entrances[i].stays() {
			b.stayer = i
			return true
		}
	}
	return false
}

// staying returns the units that are inside and do not leave yet, and no more than most.
func (b *Barrier) staying(most int) []string {
	var all []string
	for i := range b.Entrances {
		if e := &b.Entrances[i]; b.cfg.Double && e.stays() && len(all) < most {
			all = append(all, e.Unit())
		}
	}
	return all
}

// depart lets leaving participants go, if none stays, and none is to come in any more.
func (b *Barrier) depart() {
	if !b.cfg.Double || len(b.Queue) > 0 || b.someStay() {
		return
	}
	some := false
	for i := range b.Entrances {
		if e := &b.Entrances[i]; e.Phase == Through && e.Leaving {
			e.Phase, e.Since, some = Left, b.Now, true
			b.answer(e, Departed)
		}
	}
	if some {
		b.happened(Happened{What: HasEmptied})
	}
}
