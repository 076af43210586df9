package group

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/retry"
)

// A member of a group that is formed hears of it, though a new node has become the coordinator, and
// the name is not blocked.
func TestAMemberOfAFormedGroupHearsOfIt(t *testing.T) {
	for _, q := range []Quorum{{}, {2, 5 * ms}} {
		w := newNet(t, 3)
		w.kill(0)
		r := roster(t, on(3, 3)...)
		w.lose = func(_, to nodeID, m Message) bool { _, is := m.(Decide); return is && to == node(2) }
		ids := w.formSome(r, q, 1, 2)
		w.run(20 * ms)
		w.lose = nil
		delete(w.dead, node(0)) // it becomes a member
		w.newView()
		w.run(time.Minute)
		if n := w.endedOf(ids); n != 2 {
			t.Errorf("%v: %d of 2 calls have ended", q, n)
		}
		for _, rank := range []int{1, 2} {
			w.call(rank, Call{Kind: CallClose, Group: "g", Rank: rank})
		}
		w.run(time.Second)
		again := w.formSome(r, q, 0, 1, 2)
		w.run(10 * time.Second)
		if n := w.endedOf(again); n != 3 {
			t.Errorf("%v: all call Form again, and %d of 3 calls have ended", q, n)
		}
	}
}

// What was accepted and not decided does not hold up those who form the group with a coordinator
// that was no member then.
func TestWhatNobodyHasDecidedIsGivenUp(t *testing.T) {
	w := newNet(t, 3)
	w.kill(0)
	r := roster(t, on(3, 3)...)
	w.lose = func(_, _ nodeID, m Message) bool { _, is := m.(Accept); return is }
	ids := w.formSome(r, Quorum{}, 1, 2)
	w.run(20 * ms)
	delete(w.dead, node(0))
	w.newView()
	w.run(time.Second)
	w.lose = nil
	ids[0] = w.formSome(r, Quorum{}, 0)[0]
	w.run(10 * time.Second)
	for rank, id := range ids {
		if d, ok := w.done[id]; !ok || d.Outcome != OK {
			t.Errorf("rank %d: %+v, %v", rank, d, ok)
		}
	}
}

// A group with a least number of members is not formed of fewer, also if no others live.
func TestAtLeastIsALeastNumber(t *testing.T) {
	w := newNet(t, 4)
	for i := 1; i < 4; i++ {
		w.dead[node(i)] = true
	}
	w.newView()
	ids := w.formSome(roster(t, on(4, 4)...), Quorum{3, time.Hour}, 0)
	w.run(time.Second)
	if n := w.endedOf(ids); n > 0 {
		t.Fatalf("a group of at least 3 is formed of one: %+v", w.done[ids[0]])
	}
	for i := 1; i < 4; i++ {
		delete(w.dead, node(i))
	}
	w.newView()
	for rank, id := range w.formSome(roster(t, on(4, 4)...), Quorum{3, time.Hour}, 1, 2, 3) {
		ids[rank] = id
	}
	w.run(5 * time.Second)
	for rank, id := range ids {
		if d, ok := w.done[id]; !ok || d.Outcome != OK {
			t.Errorf("rank %d: %+v, %v", rank, d, ok)
		}
	}
}

// Callers that give up together are told of together.
func TestManyCallersGiveUp(t *testing.T) {
	w := newNet(t, 2)
	r := roster(t, on(2, 1000)...)
	var all []int
	for rank := 1; rank < 1000; rank += 2 {
		all = append(all, rank)
	}
	ids := w.formSome(r, Quorum{999, time.Hour}, all...)
	w.run(3 * time.Second)
	n := 0
	w.lose = func(_, _ nodeID, m Message) bool {
		if _, is := m.(Contribute); is {
			n++
		}
		return false
	}
	for _, id := range ids {
		w.step(node(1), GiveUp{ID: id})
	}
	w.run(3 * time.Second)
	if n > 20 {
		t.Errorf("%d messages for %d callers that give up", n, len(ids))
	}
	for i := range 2 {
		if k := len(w.nodes[node(i)].groups); k > 0 {
			w.run(time.Minute)
			if len(w.nodes[node(i)].groups) > 0 {
				t.Errorf("node %d remembers a Form that all have given up", i)
			}
		}
	}
}

// A join timeout is bounded.
func TestAJoinTimeoutForEver(t *testing.T) {
	if text := (Quorum{2, math.MaxInt64}).Valid(4); text == "" {
		t.Error("a join timeout of 292 years is valid")
	}
	if text := (Quorum{2, 24 * time.Hour}).Valid(4); text != "" {
		t.Error(text)
	}
}

// A node that coordinated before, and has contributed nothing, accepts what a new coordinator
// proposes soon, also if it was not asked before.
func TestAFormerCoordinatorAcceptsSoon(t *testing.T) {
	w := newNet(t, 4)
	w.dead[node(0)] = true
	w.newView()
	r := roster(t, on(4, 4)...)
	q := Quorum{2, 50 * ms}
	ids := w.formSome(r, q, 2)
	w.run(5 * ms)
	w.lose = func(_, to nodeID, m Message) bool { _, is := m.(Ask); return is && to == node(1) }
	delete(w.dead, node(0))
	w.newView()
	ids[3] = w.formSome(r, q, 3)[3]
	w.run(100 * ms)
	w.lose = nil
	w.run(3 * time.Second)
	if n := w.endedOf(ids); n != 2 {
		t.Errorf("%d of 2 calls have ended", n)
	}
}

// A node that was removed has nothing to do for its groups any more.
func TestARemovedNodeHasNothingDue(t *testing.T) {
	w := newNet(t, 3)
	r := roster(t, on(3, 3)...)
	for i := range 100 {
		w.call(0, Call{Kind: CallForm, Group: fmt.Sprint("g", i), Roster: r, Contribution: Contribution{Quorum: Quorum{2, 10 * time.Hour}}})
	}
	w.run(time.Second)
	self := phalanx.MakeNodeID("n00", 2)
	c := w.nodes[node(0)]
	c.Step(w.now, Viewed{Self: self, Number: 9, Members: map[phalanx.NodeID]bool{self: true}})
	if at, due := c.Due(); due || c.Bytes() != 0 {
		t.Errorf("due at %v, %d bytes", at, c.Bytes())
	}
}

// What no member says does not end a node's part: ranks and numbers that cannot be.
func TestOddNumbers(t *testing.T) {
	w := newNet(t, 3)
	r := roster(t, on(3, 3)...)
	w.lose = func(_, _ nodeID, m Message) bool { _, is := m.(Propose); return is }
	ids := w.form("g", r)
	w.run(20 * ms)
	life := w.nodes[node(1)].groups["g"].life
	w.step(node(1), Heard{From: node(0), Message: Decide{Group: "g", Life: life, Decision: Decision{For: ForForm, View: 1, Failed: []int{7}}}})
	for _, x := range w.done[ids[1]].Failed {
		if x >= r.Len() {
			t.Errorf("rank %d is told as failed", x)
		}
	}
	w = newNet(t, 3)
	w.formed("g", r)
	life = w.nodes[node(0)].groups["g"].life
	for _, seq := range []uint64{1000, 1 << 62} {
		w.step(node(1), Heard{From: node(0), Message: Propose{Group: "g", Life: life, Seq: seq, Term: w.view, Decision: Decision{For: ForAgree}}})
		w.step(node(1), Heard{From: node(0), Message: Decide{Group: "g", Life: life, Seq: seq, Decision: Decision{For: ForAgree}}})
	}
	w.call(1, Call{Kind: CallAgree, Group: "g", Rank: 1, Contribution: Contribution{For: ForAgree, Op: And}})
}

// A coordinator that begins again in a new view goes on with the join timeout of before.
func TestTheJoinTimeoutGoesOn(t *testing.T) {
	w := newNet(t, 2)
	w.lose = func(_, _ phalanx.NodeID, _ Message) bool { return true }
	w.call(0, Call{Kind: CallForm, Group: "g", Roster: roster(t, on(2, 2)...), Contribution: Contribution{Quorum: Quorum{AtLeast: 1, JoinTimeout: time.Minute}}})
	joined := func() joining { return w.nodes[node(0)].groups["g"].agreed[0].ballot.joining }
	w.run(10 * time.Millisecond)
	before := joined()
	w.newView()
	if after := joined(); !before.begun || after != before {
		t.Errorf("%+v in one view, %+v in the next", before, after)
	}
}

// Where answers take long now, what is not answered is repeated later.
func TestRepeatsComeLaterWhereAnswersTakeLong(t *testing.T) {
	w := newNet(t, 2)
	c := w.nodes[node(0)]
	before := c.pauses(node(1)).First
	for range 20 {
		c.now += 10 * time.Second
		c.answered(node(1), question{first: c.now - time.Second, Backoff: retry.Once(c.now)})
	}
	if after := c.pauses(node(1)).First; after <= before {
		t.Errorf("after %v, and no later than before: %v", after, before)
	}
}
