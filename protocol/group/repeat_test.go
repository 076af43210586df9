package group

import (
	"fmt"
	"testing"
	"time"
)

// takes returns how long it takes until so many more calls have ended.
func (w *net) takes(calls int) time.Duration {
	had, from := len(w.done), w.now
	for len(w.done) < had+calls && w.now < from+20*time.Second {
		w.run(ms)
	}
	return w.now - from
}

// The next coordinator may learn of a view later than a member that contributes in it: that is
// repeated soon, however long the former coordinator has not answered.
func TestACoordinatorLearnsOfAViewLater(t *testing.T) {
	for _, hung := range []time.Duration{10 * ms, 300 * ms, 2 * time.Second} {
		w := newNet(t, 3)
		r := w.formed("g", roster(t, on(3, 3)...))
		w.dead[node(0)] = true // the others do not know yet
		w.everyone("g", r, func(int) Contribution { return Contribution{For: ForShrink} })
		w.run(hung)
		members := map[nodeID]bool{node(1): true, node(2): true}
		w.view++
		w.step(node(2), Viewed{Self: node(2), Number: w.view, Members: members})
		w.run(3 * ms)
		w.step(node(1), Viewed{Self: node(1), Number: w.view, Members: members})
		if took := w.takes(2); took > 80*ms {
			t.Errorf("hung for %v: a Shrink takes %v after the view", hung, took)
		}
	}
}

// A node that hangs slows no repeats to others, and is forgotten when it is removed.
func TestWhatOneNodeDoesNotAnswer(t *testing.T) {
	for _, removed := range []bool{false, true} {
		w := newNet(t, 3)
		r := roster(t, Member{Node: node(0)}, Member{Node: node(2)})
		u := roster(t, Member{Node: node(0)}, Member{Node: node(1)})
		for i := range 30 {
			w.formed(fmt.Sprint("g", i), r)
		}
		w.formed("u", u)
		w.dead[node(2)] = true
		for i := range 30 {
			w.call(0, Call{Kind: CallRevoke, Group: fmt.Sprint("g", i), Rank: 0})
		}
		w.run(3 * time.Second)
		if removed {
			w.newView()
			w.run(10 * time.Minute)
		}
		lost := false
		w.lose = func(_, _ nodeID, m Message) bool {
			_, is := m.(Propose)
			first := is && !lost
			lost = lost || is
			return first
		}
		w.everyone("u", u, func(int) Contribution { return Contribution{For: ForAgree, Op: Or, Value: 1} })
		if took := w.takes(2); took > 80*ms {
			t.Errorf("removed: %v: an Agree of which one message is lost takes %v", removed, took)
		}
	}
}

// What is lost while a link is cut is repeated soon, however much that is.
func TestABatchIsLost(t *testing.T) {
	for _, k := range []int{1, 20, 1000} {
		w := newNet(t, 3)
		r := roster(t, on(3, 3)...)
		w.lose = func(nodeID, nodeID, Message) bool { return w.now < 5*ms }
		for i := range k {
			w.form(fmt.Sprint("g", i), r)
		}
		if took := w.takes(3 * k); took > 300*ms {
			t.Errorf("%d groups after a cut of 5 ms: %v", k, took)
		}
	}
}

// A member hears that a group cannot be formed, also if that is lost at first, and it has so many
// others that it repeats itself seldom.
func TestADeclinedIsLostAmongMany(t *testing.T) {
	w := newNet(t, 3)
	r := roster(t, on(2, 2)...)
	many := 10_000
	if testing.Short() {
		many /= 5
	}
	for i := range many {
		w.call(1, Call{Kind: CallForm, Group: fmt.Sprint("g", i), Roster: r, Rank: 1})
	}
	all, some := roster(t, on(3, 3)...), roster(t, Member{Node: node(0)}, Member{Node: node(2)})
	var ids []uint64
	for i := range 5 {
		ids = append(ids, w.call(1, Call{Kind: CallForm, Group: fmt.Sprint("x", i), Roster: all, Rank: 1}))
	}
	w.run(15 * time.Second)
	w.lose = func(_, to nodeID, m Message) bool { _, is := m.(Declined); return is && to == node(1) }
	for i := range 5 {
		w.call(2, Call{Kind: CallForm, Group: fmt.Sprint("x", i), Roster: some, Rank: 1})
		w.run(500 * ms)
	}
	w.run(5 * time.Second)
	w.lose = nil
	w.run(10 * time.Second)
	for i, id := range ids {
		if _, ok := w.done[id]; !ok {
			t.Errorf("x%d waits for ever", i)
		}
	}
}
