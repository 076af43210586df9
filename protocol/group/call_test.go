package group

import (
	"testing"
	"time"
)

// A member that calls again, while its call waits, takes its place.
func TestFormTwiceAtOnce(t *testing.T) {
	w := newNet(t, 2)
	r := roster(t, on(2, 2)...)
	first := w.call(0, Call{Kind: CallForm, Group: "g", Roster: r, Rank: 0})
	second := w.call(0, Call{Kind: CallForm, Group: "g", Roster: r, Rank: 0})
	w.call(1, Call{Kind: CallForm, Group: "g", Roster: r, Rank: 1})
	w.run(time.Second)
	if d, ok := w.done[first]; !ok || d.Outcome != Used {
		t.Errorf("the first call: %+v, %v", d, ok)
	}
	if d, ok := w.done[second]; !ok || d.Outcome != OK {
		t.Errorf("the second call: %+v, %v", d, ok)
	}
}

// Of two that wait under one label, each gets an invitation of its own; nothing is kept
// of those that were taken.
func TestAwaitTwiceAtOnce(t *testing.T) {
	w := newNet(t, 3)
	waits := []uint64{w.call(2, Call{Kind: CallAwait}), 0}
	for i, name := range []string{"a", "b"} {
		r := w.formed(name, roster(t, on(2, 2)...))
		ids := w.everyone(name, r, func(int) Contribution { return Contribution{For: ForGrow, Newcomers: []Member{{Node: node(2)}}} })
		w.run(4 * time.Millisecond)
		if i == 0 {
			waits[1] = w.call(2, Call{Kind: CallAwait})
		}
		w.run(2 * time.Second)
		for rank, id := range ids {
			if d, ok := w.done[id]; !ok || d.Outcome != OK {
				t.Errorf("rank %d of %s: %+v, %v", rank, name, d, ok)
			}
		}
		if d, ok := w.done[waits[i]]; !ok || d.Outcome != OK {
			t.Errorf("newcomer %d: %+v, %v", i, d, ok)
		}
	}
	if n := len(w.nodes[node(2)].invites); n > 0 {
		t.Errorf("%d invitations are kept", n)
	}
}

// A member that calls many agreements at once is told of all, also if it is told of an
// old one late: those are not forgotten that somebody asks for.
func TestManyAgreementsAtOnce(t *testing.T) {
	w := newNet(t, 3)
	r := w.formed("g", roster(t, on(3, 4)...))
	deaf := true // one node does not hear of the first decisions
	w.lose = func(_, to nodeID, m Message) bool {
		d, is := m.(Decide)
		return is && deaf && to == node(2) && d.Seq < 10
	}
	var all []map[int]uint64
	for i := range 5 * kept {
		all = append(all, w.everyone("g", r, func(rank int) Contribution { return Contribution{For: ForAgree, Op: Max, Value: int64(10*i + rank)} }))
	}
	w.run(300 * time.Millisecond)
	deaf = false
	w.run(5 * time.Second)
	for i, ids := range all {
		if d := w.same(r, ids); d.Outcome != OK || d.Decision.Value != int64(10*i+3) {
			t.Fatalf("agreement %d: %+v", i, d)
		}
	}
	for i := range 3 {
		core := w.nodes[node(i)]
		if n := len(core.groups["g"].agreed); n > kept+1 {
			t.Errorf("node %d remembers %d agreements", i, n)
		}
		if at, due := core.Due(); due {
			t.Errorf("node %d repeats something at %v", i, at)
		}
		// What comes much too late changes nothing.
		for _, m := range []Message{Ask{Group: "g", Seq: 3, Roster: r.digest}, Contribute{Group: "g", Seq: 3, View: 1}, Propose{Group: "g", Seq: 3, Term: 1, Decision: Decision{For: ForAgree}}} {
			w.step(node(i), Heard{From: node((i + 1) % 3), Message: m})
		}
		if _, due := core.Due(); due || len(core.groups["g"].agreed) > kept+1 {
			t.Errorf("node %d takes an old agreement for a new one", i)
		}
	}
}

// Nothing is decided for members who have left when all have, and nothing is kept.
func TestAllHaveLeft(t *testing.T) {
	w := newNet(t, 2)
	w.formed("g", roster(t, on(2, 2)...))
	closed := false
	w.lose = func(_, _ nodeID, m Message) bool {
		_, tell := m.(Tell)
		_, contribute := m.(Contribute)
		return tell || contribute && !closed
	}
	w.call(0, Call{Kind: CallClose, Group: "g", Rank: 0})
	id := w.call(1, Call{Kind: CallAgree, Group: "g", Rank: 1, Contribution: Contribution{For: ForShrink}})
	w.run(100 * time.Millisecond)
	w.step(node(1), GiveUp{id})
	w.call(1, Call{Kind: CallClose, Group: "g", Rank: 1})
	closed = true // what it has contributed and that it has left come at once
	w.run(time.Second)
	w.lose = nil
	w.run(3 * time.Second)
	for i := range 2 {
		core := w.nodes[node(i)]
		if at, due := core.Due(); due || len(core.groups) > 0 {
			t.Errorf("node %d has %d groups, and repeats something at %v", i, len(core.groups), at)
		}
	}
}

// An agreement that is over and forgotten is none that begins.
func TestAnAgreementThatIsOver(t *testing.T) {
	g := &group{agreed: map[uint64]*agreement{}, over: 70}
	if g.agreement(69) != nil || g.agreement(70) == nil {
		t.Error("one that is over begins, or the next one does not")
	}
}
