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

// A member that was left out comes in by Grow, though its node has no part in the group.
func TestGrowTakesInWhoWasLeftOut(t *testing.T) {
	w := newNet(t, 3)
	r := roster(t, on(3, 3)...)
	w.formSome(r, Quorum{2, 50 * ms}, 1, 2)
	w.run(100 * ms)
	ids := []uint64{w.call(0, Call{Kind: CallAwait})}
	for rank := 1; rank < 3; rank++ {
		ids = append(ids, w.call(rank, Call{Kind: CallAgree, Group: "g", Rank: rank, Contribution: Contribution{For: ForGrow, Newcomers: []Member{r.members[0]}}}))
	}
	w.run(200 * ms)
	for i, id := range ids {
		if d, ok := w.done[id]; !ok || d.Outcome != OK || d.Roster.Len() != 3 || len(d.Failed) > 0 {
			t.Errorf("call %d: %+v, %v", i, d, ok)
		}
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
