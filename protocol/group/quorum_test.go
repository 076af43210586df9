package group

import (
	"slices"
	"testing"
	"time"
)

const ms = time.Millisecond

// formSome has members on some nodes form a group with a quorum, and returns the calls.
func (w *net) formSome(r *Roster, q Quorum, ranks ...int) map[int]uint64 {
	ids := map[int]uint64{}
	for _, rank := range ranks {
		ids[rank] = w.call(w.index(r.members[rank].Node), Call{Kind: CallForm, Group: "g", Roster: r, Rank: rank, Contribution: Contribution{Quorum: q}})
	}
	return ids
}

func (w *net) endedOf(ids map[int]uint64) (n int) {
	for _, id := range ids {
		if _, ok := w.done[id]; ok {
			n++
		}
	}
	return n
}

// A group is formed of those who have called when the join timeout has passed, whoever they are,
// and the others are told so when they come.
func TestAGroupOfSome(t *testing.T) {
	for _, come := range [][]int{{0, 1}, {1, 2}, {2, 3}, {0, 1, 3}} {
		w := newNet(t, 4)
		r := roster(t, on(4, 4)...)
		ids := w.formSome(r, Quorum{2, 100 * ms}, come...)
		w.run(80 * ms)
		if n := w.endedOf(ids); n > 0 {
			t.Errorf("%v: %d calls end before the join timeout", come, n)
		}
		w.run(100 * ms)
		d := w.same(r, ids)
		var late []int
		for rank := range 4 {
			if !slices.Contains(come, rank) {
				late = append(late, rank)
			}
		}
		if d.Outcome != OK || !slices.Equal(d.Decision.Failed, late) || !slices.Equal(d.Failed, late) {
			t.Errorf("%v: %+v", come, d)
		}
		agreed := map[int]uint64{} // without the others
		for _, rank := range come {
			agreed[rank] = w.call(rank, Call{Kind: CallAgree, Group: "g", Rank: rank, Contribution: Contribution{For: ForAgree, Op: Max, Value: int64(rank)}})
		}
		w.run(20 * ms)
		if d := w.same(r, agreed); d.Outcome != OK || d.Decision.Value != int64(slices.Max(come)) {
			t.Errorf("%v: they agree on %+v", come, d)
		}
		for rank, id := range w.formSome(r, Quorum{2, 100 * ms}, late...) {
			if d, ok := w.done[id]; !ok || d.Outcome != LeftBehind || !slices.Contains(d.Decision.Failed, rank) {
				t.Errorf("%v: rank %d comes late: %+v, %v", come, rank, d, ok)
			}
		}
	}
}

// A group is formed before the join timeout when all live members have called, and after it when
// enough have.
func TestWhenAGroupOfSomeIsFormed(t *testing.T) {
	w := newNet(t, 4)
	r := roster(t, on(4, 4)...)
	w.kill(3)
	all := w.formSome(r, Quorum{2, time.Hour}, 0, 1, 2)
	w.run(50 * ms)
	if d := w.same(r, all); d.Outcome != OK || !slices.Equal(d.Failed, []int{3}) {
		t.Errorf("all come: %+v", d)
	}

	w = newNet(t, 4)
	first := w.formSome(r, Quorum{3, 100 * ms}, 1, 2)
	w.run(5 * time.Second)
	if n := w.endedOf(first); n > 0 {
		t.Errorf("%d calls end with two of at least three", n)
	}
	last := w.formSome(r, Quorum{3, 100 * ms}, 3)
	w.run(20 * ms)
	last[1], last[2] = first[1], first[2]
	if d := w.same(r, last); d.Outcome != OK || !slices.Equal(d.Failed, []int{0}) {
		t.Errorf("the third comes late: %+v", d)
	}
}

// Members that give different numbers are all told so, also when they come later, and can try
// again.
func TestQuorumsThatDiffer(t *testing.T) {
	for _, other := range []Quorum{{}, {3, 100 * ms}, {2, 90 * ms}} {
		w := newNet(t, 3)
		r := roster(t, on(3, 3)...)
		ids := w.formSome(r, Quorum{2, 100 * ms}, 1)
		w.run(20 * ms)
		ids[2] = w.formSome(r, other, 2)[2]
		w.run(20 * ms)
		ids[0] = w.formSome(r, other, 0)[0]
		w.run(20 * ms)
		for rank := range 3 {
			if d, ok := w.done[ids[rank]]; !ok || d.Outcome != Mismatch || d.Decision.Mismatch == "" {
				t.Errorf("%v: rank %d: %+v, %v", other, rank, d, ok)
			}
		}
		again := w.formSome(r, other, 0, 1, 2)
		w.run(10 * time.Second)
		if d := w.same(r, again); d.Outcome != OK && d.Outcome != Mismatch {
			t.Errorf("%v: again: %+v", other, d)
		}
	}
}

// A caller that has given up does not count, and those that are absent are named.
func TestAQuorumIsOfThoseWhoWait(t *testing.T) {
	w := newNet(t, 4)
	r := roster(t, on(4, 4)...)
	q := Quorum{2, 50 * ms}
	gone := w.formSome(r, q, 1)[1]
	w.run(10 * ms)
	w.step(node(1), GiveUp{ID: gone})
	ids := w.formSome(r, q, 2)
	w.run(3 * time.Second)
	if n := w.endedOf(ids); n > 0 {
		t.Fatalf("a group is formed with a caller that has gone: %+v", w.done)
	}
	other := w.formSome(r, q, 3)
	w.run(100 * ms)
	ids[3] = other[3]
	if d := w.same(r, ids); d.Outcome != OK || !slices.Equal(d.Failed, []int{0, 1}) {
		t.Errorf("%+v", d)
	}

	w = newNet(t, 4)
	alone := w.formSome(r, q, 2)[2]
	w.run(time.Second)
	w.step(node(2), GiveUp{ID: alone})
	if given := w.givenUp[alone]; !slices.Equal(given.Absent, r.Names([]int{0, 1, 3})) {
		t.Errorf("absent are %v", given.Absent)
	}
	w.run(20 * time.Second)
	for i := range 4 {
		if _, due := w.nodes[node(i)].Due(); due || len(w.nodes[node(i)].groups) > 0 {
			t.Errorf("node %d remembers a group that nobody has formed", i)
		}
	}
}

// A coordinator that waits for others, or has proposed or told what is decided, dies after any
// message: all that are left are in the same group, and late ones are told.
func TestTheCoordinatorOfSomeDies(t *testing.T) {
	for _, come := range [][]int{{1, 2, 3}, {0, 2, 3}, {2, 3}} {
		for after := range 60 {
			w := newNet(t, 5)
			r := roster(t, on(5, 5)...)
			q := Quorum{2, 50 * ms}
			w.after = func(n int) {
				if n == after {
					w.kill(0)
				}
			}
			ids := w.formSome(r, q, come...)
			w.run(time.Second)
			d := w.same(r, ids)
			if d.Outcome != OK || !slices.Contains(d.Decision.Failed, 4) {
				t.Fatalf("%v, after %d messages: %+v", come, after, d)
			}
			if w.dead[node(0)] && !slices.Contains(w.done[ids[come[len(come)-1]]].Failed, 0) && len(w.failed["g"][node(3)]) == 0 {
				t.Errorf("%v, after %d messages: the death of node 0 is not told", come, after)
			}
			for rank, id := range w.formSome(r, q, 4) {
				if late, ok := w.done[id]; !ok || late.Outcome != LeftBehind {
					t.Errorf("%v, after %d messages: rank %d comes late: %+v, %v", come, after, rank, late, ok)
				}
			}
		}
	}
}

// A member that was left out comes in by Grow, though its node has no part in the group; so does
// one that has left it.
func TestGrowTakesInWhoWasLeftOut(t *testing.T) {
	w := newNet(t, 3)
	r := roster(t, on(3, 3)...)
	w.formSome(r, Quorum{2, 50 * ms}, 1, 2)
	w.run(100 * ms)
	w.growBy0(r)

	w = newNet(t, 3)
	r = w.formed("g", roster(t, on(3, 3)...))
	w.call(0, Call{Kind: CallClose, Group: "g", Rank: 0})
	w.run(50 * ms)
	w.growBy0(r)
}

// growBy0 has members 1 and 2 take in member 0.
func (w *net) growBy0(r *Roster) {
	w.t.Helper()
	ids := []uint64{w.call(0, Call{Kind: CallAwait})}
	for rank := 1; rank < 3; rank++ {
		ids = append(ids, w.call(rank, Call{Kind: CallAgree, Group: "g", Rank: rank, Contribution: Contribution{For: ForGrow, Newcomers: []Member{r.members[0]}}}))
	}
	w.run(200 * ms)
	for i, id := range ids {
		if d, ok := w.done[id]; !ok || d.Outcome != OK || d.Roster.Len() != 3 || len(d.Failed) > 0 {
			w.t.Errorf("call %d: %+v, %v", i, d, ok)
		}
	}
}

// What holds up a Form of some: a node that has members in an earlier group of the name until
// they leave it, a node that hangs until it is out of the view, and the death of the coordinator
// for another join timeout.
func TestWhatHoldsUpAGroupOfSome(t *testing.T) {
	r := roster(t, on(3, 3)...)
	for name, test := range map[string]struct {
		before, after func(w *net)
		come          []int
	}{
		"in an earlier group": {
			func(w *net) {
				w.formed("g", r)
				w.call(0, Call{Kind: CallClose, Group: "g", Rank: 0})
				w.call(1, Call{Kind: CallClose, Group: "g", Rank: 1})
				w.run(50 * ms)
			},
			func(w *net) { w.call(2, Call{Kind: CallClose, Group: "g", Rank: 2}) },
			[]int{0, 1},
		},
		"hangs": {
			func(w *net) { w.lose = func(from, _ nodeID, _ Message) bool { return from == node(2) } },
			func(w *net) { w.kill(2) },
			[]int{0, 1},
		},
	} {
		w := newNet(t, 3)
		test.before(w)
		ids := w.formSome(r, Quorum{2, 50 * ms}, test.come...)
		w.run(3 * time.Second)
		if n := w.endedOf(ids); n > 0 {
			t.Errorf("%s: the group is formed before", name)
		}
		test.after(w)
		w.run(3 * time.Second)
		if d := w.same(r, ids); d.Outcome != OK || !slices.Equal(d.Decision.Failed, []int{2}) {
			t.Errorf("%s: %+v", name, d)
		}
	}

	w := newNet(t, 3)
	ids := w.formSome(r, Quorum{2, 100 * ms}, 1, 2)
	w.run(80 * ms)
	w.kill(0)
	w.lose = func(_, _ nodeID, m Message) bool { _, is := m.(Propose); return is } // all that are live have called
	w.run(10 * ms)
	if b := w.nodes[node(1)].groups["g"].agreed[0].ballot; b == nil || b.begun && b.since < 80*ms {
		t.Errorf("the next coordinator counts from before: %+v", b)
	}
	w.lose = nil
	w.run(time.Second)
	if d := w.same(r, ids); d.Outcome != OK || !slices.Equal(d.Decision.Failed, []int{0}) {
		t.Errorf("%+v", d)
	}
}

// A node that has no part in a group forgets it after a while, and a late caller hears from
// another node that it was formed.
func TestALateCallerIsToldLater(t *testing.T) {
	for _, out := range []int{0, 2} {
		w := newNet(t, 3)
		r := roster(t, on(3, 3)...)
		q := Quorum{2, 50 * ms}
		var in []int
		for rank := range 3 {
			if rank != out {
				in = append(in, rank)
			}
		}
		w.formSome(r, q, in...)
		w.run(forgetAfter + time.Second)
		if len(w.nodes[node(out)].groups) > 0 {
			t.Errorf("node %d still knows the group", out)
		}
		id := w.formSome(r, q, out)[out]
		w.run(time.Second)
		if d, ok := w.done[id]; !ok || d.Outcome != LeftBehind {
			t.Errorf("node %d: %+v, %v", out, d, ok)
		}
	}
}

// A group of some is over, also on the nodes that have no part in it, when its members have
// left it; then its name can be used by all.
func TestAGroupOfSomeEnds(t *testing.T) {
	w := newNet(t, 4)
	r := roster(t, on(4, 4)...)
	q := Quorum{2, 50 * ms}
	w.formSome(r, q, 1, 2)
	w.run(100 * ms)
	for rank := 1; rank < 3; rank++ {
		w.call(rank, Call{Kind: CallClose, Group: "g", Rank: rank})
	}
	w.run(50 * ms)
	for i := range 4 {
		if len(w.nodes[node(i)].groups) > 0 {
			t.Errorf("node %d still knows the group", i)
		}
	}
	ids := w.formSome(r, q, 0, 1, 2, 3)
	w.run(50 * ms)
	if d := w.same(r, ids); d.Outcome != OK || len(d.Failed) > 0 {
		t.Errorf("%+v", d)
	}
}

// A node that has no part in a group hears of the decision at any time, and can forget what it
// has accepted.
func TestTheDecisionIsToldLater(t *testing.T) {
	w := newNet(t, 3)
	r := roster(t, on(3, 3)...)
	w.lose = func(_, to nodeID, m Message) bool { _, is := m.(Decide); return is && to == node(2) }
	w.formSome(r, Quorum{2, 50 * ms}, 0, 1)
	w.run(100 * ms)
	for range 2 * kept {
		for rank := range 2 {
			w.call(rank, Call{Kind: CallAgree, Group: "g", Rank: rank, Contribution: Contribution{For: ForAgree, Op: Max}})
		}
		w.run(5 * ms)
	}
	w.lose = nil
	w.run(3 * time.Second)
	if g := w.nodes[node(2)].groups["g"]; g == nil || !g.formed {
		t.Errorf("node 2 does not hear of the decision: %+v", g)
	}
}

// A coordinator that has not heard that a group is over does not tell those who were left out
// that it was formed without them: they have forgotten it.
func TestAGroupThatIsOverLeavesNobodyOut(t *testing.T) {
	w := newNet(t, 3)
	r := roster(t, on(3, 3)...)
	q := Quorum{2, 50 * ms}
	w.formSome(r, q, 0, 1)
	w.run(100 * ms)
	w.lose = func(from, to nodeID, m Message) bool {
		_, is := m.(Tell)
		return is && from == node(1) && to == node(0)
	}
	for rank := range 2 {
		w.call(rank, Call{Kind: CallClose, Group: "g", Rank: rank})
	}
	w.run(50 * ms)
	ids := w.formSome(r, q, 2)
	w.run(50 * ms)
	if n := w.endedOf(ids); n > 0 {
		t.Errorf("its call ends before all have left: %+v", w.done[ids[2]])
	}
	w.lose = nil
	for rank, id := range w.formSome(r, q, 0, 1) {
		ids[rank] = id
	}
	w.run(3 * time.Second)
	if d := w.same(r, ids); d.Outcome != OK || len(d.Failed) > 0 {
		t.Errorf("%+v", d)
	}
}

// A coordinator that has accepted that a group is formed, and has not heard of it until it was
// over, forms no such group again: members that were in it have forgotten it.
func TestAGroupThatIsOverIsNotFormedAgain(t *testing.T) {
	for _, call := range []bool{false, true} {
		w := newNet(t, 4)
		r := roster(t, on(4, 4)...)
		q := Quorum{3, 50 * ms}
		w.lose = func(_, to nodeID, m Message) bool { _, is := m.(Decide); return is && to == node(1) }
		w.formSome(r, q, 0, 2, 3)
		w.run(60 * ms)
		w.lose = func(from, _ nodeID, _ Message) bool { return from == node(1) }
		w.kill(0)
		for rank := 2; rank < 4; rank++ {
			w.call(rank, Call{Kind: CallClose, Group: "g", Rank: rank})
		}
		w.run(20 * ms)
		ids := map[int]uint64{}
		if call {
			ids = w.formSome(r, q, 1, 2, 3)
		}
		w.lose = nil
		w.run(3 * time.Second)
		for rank, id := range ids {
			if d, ok := w.done[id]; !ok || d.Outcome != OK || !slices.Equal(d.Failed, []int{0}) {
				t.Errorf("rank %d: %+v, %v", rank, d, ok)
			}
		}
		for i := 1; i < 4; i++ {
			if n := len(w.nodes[node(i)].groups); !call && n > 0 {
				t.Errorf("node %d remembers the group", i)
			}
		}
	}
}

// A group of which all members have died before a node hears that it was formed is over there.
func TestAGroupOfTheDead(t *testing.T) {
	w := newNet(t, 4)
	r := roster(t, on(4, 4)...)
	w.lose = func(_, to nodeID, m Message) bool { _, is := m.(Decide); return is && to == node(3) }
	w.formSome(r, Quorum{2, 50 * ms}, 0, 1)
	w.run(60 * ms)
	for i := range 3 {
		w.dead[node(i)] = true
	}
	w.newView()
	w.run(50 * ms)
	if n := len(w.nodes[node(3)].groups); n > 0 {
		t.Errorf("node 3 remembers a group of the dead")
	}
}

// A node on which somebody waits to form another group of the name refuses; one on which nobody
// does any more accepts soon.
func TestANodeThatFormsAnotherGroup(t *testing.T) {
	for _, waits := range []bool{true, false} {
		w := newNet(t, 4)
		other := w.call(2, Call{Kind: CallForm, Group: "g", Roster: roster(t, on(4, 4)[2:]...)})
		w.run(10 * ms)
		if !waits {
			w.step(node(2), GiveUp{ID: other})
		}
		r := roster(t, on(4, 3)[:3]...)
		ids := w.formSome(r, Quorum{2, 5 * ms}, 0, 1)
		w.run(3 * time.Second)
		d := w.same(r, ids)
		if want := map[bool]Outcome{true: Mismatch, false: OK}[waits]; d.Outcome != want {
			t.Errorf("somebody waits: %v: %+v", waits, d)
		}
	}
}
