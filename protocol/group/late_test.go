package group

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// again has node 1 of two leave a group of which node 0 does not hear that, and form it again.
// It returns the life of the group, what node 1 has sent to form it, and its second call.
func again(t *testing.T) (w *net, r *Roster, life uint64, first Contribute, id uint64) {
	w = newNet(t, 2)
	r = roster(t, on(2, 2)...)
	w.lose = func(_, _ nodeID, m Message) bool {
		if m, ok := m.(Contribute); ok && m.Life == 0 && first.Try == 0 {
			first = m
		}
		return false
	}
	w.formed("g", r)
	life = w.nodes[node(0)].groups["g"].life
	w.call(0, Call{Kind: CallClose, Group: "g", Rank: 0})
	w.run(10 * ms)
	w.lose = func(_, to nodeID, m Message) bool { _, is := m.(Tell); return is && to == node(0) }
	w.call(1, Call{Kind: CallClose, Group: "g", Rank: 1})
	id = w.call(1, Call{Kind: CallForm, Group: "g", Roster: r, Rank: 1})
	w.run(10 * ms)
	return w, r, life, first, id
}

// A late answer of the coordinator does not take a member into the group that it has left.
func TestALateAnswerIsOfTheGroupBefore(t *testing.T) {
	w, _, life, first, id := again(t)
	if first.Try == 0 || first.Try == w.nodes[node(1)].groups["g"].try {
		t.Fatalf("the attempts are not told apart: %+v", first)
	}
	w.step(node(1), Heard{From: node(0), Message: Standing{Group: "g", Life: life, Try: first.Try}})
	w.run(200 * ms)
	if d, ok := w.done[id]; ok {
		t.Errorf("it forms the group that it has left: %+v", d)
	}
}

// A late question of an earlier group is not answered by one that is being formed: nobody would
// ever contribute to what its coordinator began.
func TestALateQuestionIsOfTheGroupBefore(t *testing.T) {
	w, r, life, _, _ := again(t)
	w.lose = nil
	w.run(2 * time.Second) // now it is being formed by node 0
	w.step(node(1), Heard{From: node(0), Message: Ask{Group: "g", Life: life, Seq: 1, Roster: r.digest}})
	w.run(200 * ms)
	for i := range 2 {
		if a := w.nodes[node(i)].groups["g"].agreed[1]; a != nil {
			t.Errorf("node %d begins agreement 1 of a group that is not formed", i)
		}
	}
}

// Members that have left a group are not missing in the next one of its name.
func TestWhoHasLeftTheGroupBeforeIsInTheNext(t *testing.T) {
	w := newNet(t, 3)
	r := roster(t, on(3, 3)...)
	w.lose = func(_, to nodeID, m Message) bool { _, is := m.(Decide); return is && to == node(2) } // it accepts, and does not hear of the decision
	w.formSome(r, Quorum{2, 50 * ms}, 0, 1)
	w.run(100 * ms)
	for rank := range 2 {
		w.call(rank, Call{Kind: CallClose, Group: "g", Rank: rank})
	}
	w.run(20 * ms)
	ids := w.formSome(r, Quorum{2, 50 * ms}, 0, 1, 2)
	w.lose = nil
	w.run(3 * time.Second)
	for rank, id := range ids {
		if d, ok := w.done[id]; !ok || d.Outcome != OK || len(d.Failed) > 0 {
			t.Errorf("rank %d: %+v, %v", rank, d, ok)
		}
	}
}

// A late decision of an earlier group does not leave out a member that now contributes to the
// next one: the others would wait for its node until it has forgotten that group.
func TestALateDecisionIsOfTheGroupBefore(t *testing.T) {
	w := newNet(t, 3)
	r := roster(t, on(3, 3)...)
	var late []Decide
	w.lose = func(_, to nodeID, m Message) bool {
		d, is := m.(Decide)
		if is && to == node(2) {
			late = append(late, d)
		}
		return is && to == node(2)
	}
	q := Quorum{2, 50 * ms}
	w.formSome(r, q, 0, 1)
	w.run(60 * ms)
	ids := w.formSome(r, q, 2)
	w.run(100 * ms)
	if len(late) < 2 {
		t.Fatalf("node 2 was sent %+v", late)
	}
	for rank := range 2 {
		w.call(rank, Call{Kind: CallClose, Group: "g", Rank: rank})
	}
	w.run(10 * ms)
	life := w.nodes[node(2)].groups["g"].life
	again := w.formSome(r, q, 0, 1)
	for i := 0; i < 2000 && w.nodes[node(2)].groups["g"].life == life; i++ {
		w.run(ms)
	}
	w.lose = nil
	for _, d := range late {
		w.step(node(2), Heard{From: node(0), Message: d})
	}
	w.run(2 * time.Second)
	for rank, id := range again {
		if d, ok := w.done[id]; !ok || d.Outcome != OK {
			t.Errorf("rank %d: %+v, %v; node 2's: %+v", rank, d, ok, w.done[ids[2]])
		}
	}
}

// A late contribution begins no group that is remembered for ever: not of a name of which a
// member has left, and not of one.
func TestALateContributionBeginsNothing(t *testing.T) {
	for _, gone := range []bool{false, true} {
		w := newNet(t, 2)
		r := roster(t, on(2, 2)...)
		late := Contribute{Group: "g~1-0", View: 1, Roster: r, Try: 5, Parts: []Part{{1, Contribution{For: ForForm}}}}
		w.step(node(0), Heard{From: node(1), Message: late})
		if gone {
			w.step(node(0), Heard{From: node(1), Message: Tell{Num: 1, News: Gone{Named: Named{Group: "g~1-0", Life: 9}, Ranks: []int{1}}}})
		}
		w.run(forgetAfter + 5*time.Second)
		if _, due := w.nodes[node(0)].Due(); due || len(w.nodes[node(0)].groups) > 0 {
			t.Errorf("the group is remembered; a member has left: %v", gone)
		}
	}
}

// A Grow whose newcomers do not come, and whose callers have given up, leaves nothing behind.
func TestAGrowThatAllHaveGivenUp(t *testing.T) {
	w := newNet(t, 3)
	r := w.formed("g", roster(t, on(2, 2)...))
	ids := w.everyone("g", r, func(int) Contribution {
		return Contribution{For: ForGrow, Newcomers: []Member{{Node: node(2), Label: "new"}}}
	})
	w.run(100 * ms)
	for rank, id := range ids {
		w.step(node(rank), GiveUp{ID: id})
		w.call(rank, Call{Kind: CallClose, Group: "g", Rank: rank})
	}
	w.run(3 * forgetAfter)
	for i := range 3 {
		c := w.nodes[node(i)]
		if _, due := c.Due(); due || len(c.groups)+len(c.calls)+len(c.held)+len(c.owed) > 0 {
			t.Errorf("node %d remembers %d groups, calls %v, news %v; due: %v", i, len(c.groups), c.calls, c.owed, due)
		}
	}
}

// A node accepts nothing of an earlier term, and what was accepted in one is not decided in the
// present one.
func TestWhatIsOfAnEarlierTerm(t *testing.T) {
	w := newNet(t, 2)
	r := w.formed("g", roster(t, on(2, 2)...))
	w.newView()
	g, life := w.nodes[node(1)].groups["g"], w.nodes[node(1)].groups["g"].life
	propose := func(term uint64) {
		w.step(node(1), Heard{From: node(0), Message: Propose{Group: "g", Life: life, Seq: 1, Term: term, Decision: Decision{For: ForAgree}}})
	}
	if propose(w.view - 1); g.agreed[1] != nil && g.agreed[1].took != nil {
		t.Error("it accepts what a coordinator of an earlier term proposes")
	}
	w.lose = func(_, _ phalanx.NodeID, m Message) bool { _, is := m.(Propose); return is }
	w.everyone("g", r, func(int) Contribution { return Contribution{For: ForAgree} })
	w.run(20 * time.Millisecond)
	a := w.nodes[node(0)].groups["g"].agreed[1]
	if a.ballot == nil || a.ballot.proposal == nil {
		t.Fatal("nothing is proposed")
	}
	for _, term := range []uint64{w.view - 1, w.view} {
		w.step(node(0), Heard{From: node(1), Message: Accept{Group: "g", Life: life, Seq: 1, Term: term}})
		if decided := a.decided != nil; decided != (term == w.view) {
			t.Errorf("accepted in term %d, in term %d it is decided: %v", term, w.view, decided)
		}
	}
}

// A coordinator does not decide before it has the view of a member that knows a later one: that
// may have members that it waits for.
func TestACoordinatorWithAnOlderView(t *testing.T) {
	w := newNet(t, 2)
	r := w.formed("g", roster(t, on(2, 2)...))
	w.lose = func(_, _ phalanx.NodeID, m Message) bool { return true }
	ids := w.everyone("g", r, func(int) Contribution { return Contribution{For: ForAgree} })
	g := w.nodes[node(0)].groups["g"]
	w.step(node(0), Heard{From: node(1), Message: Contribute{Group: "g", Life: g.life, Seq: 1, View: w.view + 1, Parts: []Part{{1, Contribution{For: ForAgree}}}}})
	if b := g.agreed[1].ballot; b == nil || b.proposal != nil {
		t.Fatalf("%+v", b)
	}
	w.lose = nil
	w.newView()
	w.run(time.Second)
	w.same(r, ids)
}
