package group

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// see gives a node a view of the first k nodes.
func (w *net) see(i int, number uint64, members ...int) {
	v := Viewed{Self: node(i), Number: number, Members: map[nodeID]bool{}}
	for _, m := range members {
		v.Members[node(m)] = true
	}
	w.step(node(i), v)
}

// unseen is a net of nodes that have no view yet.
func unseen(t *testing.T, n int) *net {
	w := newNet(t, n)
	for i := range n {
		w.nodes[node(i)] = NewCore(Config{})
	}
	return w
}

// A node that hears of a revoke, or has a member leave, before its view has all members
// tells them nevertheless.
func TestNewsWaitsForTheView(t *testing.T) {
	w := unseen(t, 3)
	r := roster(t, Member{Node: node(0)}, Member{Node: node(1)}, Member{Node: node(2)})
	w.see(0, 2, 0, 1, 2)
	w.see(1, 1, 0, 1)
	w.see(2, 2, 0, 1, 2)
	w.form("g", r)
	w.run(20 * time.Millisecond)
	w.call(0, Call{Kind: CallRevoke, Group: "g", Rank: 0, Revocation: Revocation{By: 0}})
	w.queue = slices.DeleteFunc(w.queue, func(s sent) bool { return s.to == node(2) })
	w.lose = func(from, _ nodeID, _ Message) bool { return from == node(0) }
	w.run(20 * time.Millisecond)
	w.see(1, 2, 0, 1, 2)
	w.run(time.Second)
	w.see(1, 3, 1, 2)
	w.see(2, 3, 1, 2)
	w.run(time.Second)
	for i := 1; i < 3; i++ {
		if len(w.revoked["g"][node(i)]) == 0 {
			t.Errorf("node %d does not hear of the revoke", i)
		}
	}
}

// A group that is formed by nodes that do not know a member yet is formed without it,
// also for the member itself, and goes on without it.
func TestMemberThatIsNotKnownYet(t *testing.T) {
	for _, comes := range []bool{true, false} {
		t.Run(fmt.Sprint(comes), func(t *testing.T) {
			w := unseen(t, 3)
			r := roster(t, on(3, 3)...)
			w.see(0, 2, 0, 1, 2) // would decide, if the others knew it
			w.see(1, 1, 1, 2)
			w.see(2, 1, 1, 2)
			ids := []uint64{0, w.call(1, Call{Kind: CallForm, Group: "g", Roster: r, Rank: 1}), w.call(2, Call{Kind: CallForm, Group: "g", Roster: r, Rank: 2})}
			w.run(100 * time.Millisecond)
			w.see(1, 2, 0, 1, 2)
			w.see(2, 2, 0, 1, 2)
			if comes {
				ids[0] = w.call(0, Call{Kind: CallForm, Group: "g", Roster: r, Rank: 0})
			}
			w.run(time.Second)
			if d, ok := w.done[ids[0]]; comes && (!ok || d.Outcome != LeftBehind) {
				t.Errorf("who counts as failed is told %+v, %v", d, ok)
			}
			agree := map[int]uint64{}
			for rank := 1; rank < 3; rank++ {
				if d := w.done[ids[rank]]; d.Outcome != OK || !slices.Equal(d.Failed, []int{0}) {
					t.Errorf("rank %d is told %+v", rank, d)
				}
				agree[rank] = w.call(rank, Call{Kind: CallAgree, Group: "g", Rank: rank, Contribution: Contribution{For: ForShrink}})
			}
			w.run(time.Second)
			if d := w.same(r, agree); d.Outcome != OK || d.Roster.Len() != 2 || !slices.Equal(d.Decision.Failed, []int{0}) {
				t.Errorf("%+v", d)
			}
		})
	}
}

// News of groups that are not known here, for which there is no room, comes again.
func TestNewsWithoutRoom(t *testing.T) {
	w := newNet(t, 2)
	r := w.formed("g", roster(t, on(2, 2)...))
	life := w.nodes[node(1)].groups["g"].life
	for i := range maxEarly {
		w.step(node(1), Heard{From: node(0), Message: Tell{News: Gone{Named: Named{Group: fmt.Sprint("g~never", i), Life: life, Of: "g", Seq: 1}, Ranks: []int{0}}}})
	}
	if kept := w.nodes[node(1)].groups["g"].kept; kept != maxEarly {
		t.Fatalf("%d news are kept", kept)
	}
	w.lose = func(from, to nodeID, m Message) bool { _, is := m.(Decide); return is && to == node(1) }
	ids := w.everyone("g", r, func(int) Contribution { return Contribution{For: ForShrink} })
	w.run(20 * time.Millisecond)
	child := w.done[ids[0]].Group
	w.call(0, Call{Kind: CallRevoke, Group: child, Rank: 0})
	w.run(20 * time.Millisecond)
	w.lose = nil
	w.run(3 * time.Second)
	if len(w.revoked[child][node(1)]) == 0 {
		t.Error("a revoke is lost")
	}
}

// A node ignores messages of nodes that are no members of its view.
func TestANodeThatIsNoMember(t *testing.T) {
	w := newNet(t, 3)
	r := roster(t, on(3, 3)...)
	w.lose = func(_, _ nodeID, m Message) bool { _, is := m.(Propose); return is }
	ids := w.form("g", r)
	w.run(20 * ms)
	decide := Decide{Group: "g", Life: w.nodes[node(1)].groups["g"].life, Decision: Decision{For: ForForm, View: 1}}
	w.step(node(1), Heard{From: "other#1", Message: decide})
	if d, ok := w.done[ids[1]]; ok {
		t.Errorf("a node that is no member decides: %+v", d)
	}
	w.step(node(1), Heard{From: node(0), Message: decide})
	if d := w.done[ids[1]]; d.Outcome != OK || d.ID == 0 {
		t.Errorf("a member decides: %+v", d)
	}
}
