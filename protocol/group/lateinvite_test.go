package group

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// A Form that waited for the end of an earlier group, and was given up, is not made when that
// group ends.
func TestAFormThatWaitsIsGivenUp(t *testing.T) {
	w := newNet(t, 2)
	r := w.formed("g", roster(t, on(2, 2)...))
	w.call(0, Call{Kind: CallClose, Group: "g", Rank: 0})
	w.run(100 * time.Millisecond)
	id := w.call(0, Call{Kind: CallForm, Group: "g", Roster: r, Rank: 0})
	w.step(node(0), GiveUp{ID: id})
	if _, ok := w.givenUp[id]; !ok {
		t.Fatal("it has not ended")
	}
	w.call(1, Call{Kind: CallClose, Group: "g", Rank: 1})
	w.run(time.Second)
	if c := w.nodes[node(0)]; c.groups["g"] != nil || len(c.held) > 0 {
		t.Errorf("there is a group, or a call that waits: %v", c.held)
	}
}

// An invitation that comes late, to a group that is over, or to an earlier life of the node, is
// not taken.
func TestLateInvitations(t *testing.T) {
	w := newNet(t, 3)
	r := w.formed("g", roster(t, on(2, 2)...))
	first := w.call(2, Call{Kind: CallAwait})
	w.everyone("g", r, func(int) Contribution {
		return Contribution{For: ForGrow, Newcomers: []Member{{Node: node(2)}}}
	})
	w.run(time.Second)
	d, ok := w.done[first]
	if !ok || d.Outcome != OK {
		t.Fatalf("%+v", d)
	}
	for rank, m := range d.Roster.Members() {
		w.call(w.index(m.Node), Call{Kind: CallClose, Group: d.Group, Rank: rank})
	}
	w.run(time.Second)
	second := w.call(2, Call{Kind: CallAwait})
	former := roster(t, Member{Node: node(0)}, Member{Node: phalanx.MakeNodeID("n02", 7)})
	for num, late := range []Invite{{Group: d.Group, Roster: d.Roster, Rank: d.Rank}, {Group: "h", Roster: former, Rank: 1}} {
		w.step(node(2), Heard{From: node(0), Message: Tell{Num: uint64(100 + num), News: late}})
		w.run(time.Second)
		if d, ok := w.done[second]; ok || w.nodes[node(2)].groups[late.Group] != nil {
			t.Errorf("it takes the invitation to %s: %+v", late.Group, d)
		}
	}
}

// Two members of a node that give different lists do not wait for one another.
func TestListsThatDifferOnOneNode(t *testing.T) {
	w := newNet(t, 2)
	a, b, other := Member{Node: node(0), Label: "a"}, Member{Node: node(0), Label: "b"}, Member{Node: node(1)}
	w.call(0, Call{Kind: CallForm, Group: "g", Roster: roster(t, a, other), Rank: 0})
	id := w.call(0, Call{Kind: CallForm, Group: "g", Roster: roster(t, b, other), Rank: 0})
	if d := w.done[id]; d.Outcome != Mismatch {
		t.Errorf("%+v", d)
	}
}
