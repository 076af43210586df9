package replica

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/retry"
)

// Question asks a member for a part of its answer.
type Question struct {
	Term  uint64
	Stamp time.Duration // of all questions for one answer
	Said  time.Duration // of the answer whose parts have come; 0: none yet
	Part  int           // from 0
}

// Part is the head of a part of an answer.
type Part struct {
	Question      // that it answers; Said is of all parts of one answer, and rises from answer to answer
	More     bool // it is not the last one
}

// Gathering has the questions of a new primary to all other members before it acts. A collects one
// member's answer. The zero Gathering has not begun.
type Gathering[A any] struct {
	Stamp   time.Duration // of the questions; it rises
	term    uint64
	begun   bool
	members []phalanx.NodeID // that are asked, in order
	waiting map[phalanx.NodeID]*hearing[A]
}

// hearing is the received part of a member's answer.
type hearing[A any] struct {
	answer *A
	part   int // the next one
	said   time.Duration
	asks   retry.Backoff // for the next part
}

// Begin begins to ask the members but self. The host calls Ask for each of Late.
func (g *Gathering[A]) Begin(now time.Duration, term uint64, self phalanx.NodeID, members []phalanx.NodeID) {
	others := slices.DeleteFunc(slices.Clone(members), func(m phalanx.NodeID) bool { return m == self })
	*g = Gathering[A]{Stamp: max(g.Stamp+1, now), term: term, begun: true, members: others, waiting: map[phalanx.NodeID]*hearing[A]{}}
	for _, m := range others {
		g.waiting[m] = &hearing[A]{answer: new(A)}
	}
}

// Reset forgets the questions, as the members have changed. Answers to them do not count any more.
func (g *Gathering[A]) Reset() { *g = Gathering[A]{Stamp: g.Stamp} }

// Begun reports whether the members are asked, or have been.
func (g *Gathering[A]) Begun() bool { return g.begun }

// Done reports whether all members have answered.
func (g *Gathering[A]) Done() bool { return g.begun && len(g.waiting) == 0 }

// Waits returns how many members have not answered.
func (g *Gathering[A]) Waits() int { return len(g.waiting) }

// Ask returns the question that member m is sent, and takes note that it is.
func (g *Gathering[A]) Ask(now time.Duration, m phalanx.NodeID) Question {
	h := g.waiting[m]
	h.asks.Sent(now)
	return Question{Term: g.term, Stamp: g.Stamp, Said: h.said, Part: h.part}
}

// Late returns the members that are to be asked now: for the first time, or again.
func (g *Gathering[A]) Late(now time.Duration, p retry.Pauses) (late []phalanx.NodeID) {
	if len(g.waiting) == 0 {
		return nil
	}
	for _, m := range g.members {
		if h := g.waiting[m]; h != nil && now >= h.at(p) {
			late = append(late, m)
		}
	}
	return late
}

// Lagging returns the members that owe an answer although they were asked for it so many times, in order.
func (g *Gathering[A]) Lagging(times int) (all []phalanx.NodeID) {
	for _, m := range g.members {
		if h := g.waiting[m]; h != nil && h.asks.Times() >= times {
			all = append(all, m)
		}
	}
	return all
}

// Due returns when a member is asked again.
func (g *Gathering[A]) Due(p retry.Pauses) (at time.Duration, ok bool) {
	for _, h := range g.waiting {
		if d := h.at(p); !ok || d < at {
			at, ok = d, true
		}
	}
	return at, ok
}

// at is when a member is asked: the third time as soon after the second as that after the first,
// since some learn of a view later than others.
func (h *hearing[A]) at(p retry.Pauses) time.Duration {
	if !h.asks.Waits() {
		return 0
	}
	return h.asks.Last() + p.After(h.asks.Times()-1)
}

// Take takes a part of a member's answer. It returns the A to which the host adds it, which is empty
// at the first part, or nil if the part does not count: only parts of one answer count together.
func (g *Gathering[A]) Take(from phalanx.NodeID, p Part) *A {
	h := g.waiting[from]
	if h == nil || p.Term != g.term || p.Stamp != g.Stamp {
		return nil
	}
	if p.Part == 0 && p.Said > h.said { // the member was restarted
		*h = hearing[A]{answer: new(A), said: p.Said}
	}
	if p.Said != h.said || p.Part != h.part {
		return nil
	}
	h.part++
	h.asks.Answered()
	if !p.More {
		delete(g.waiting, from)
	}
	return h.answer
}
