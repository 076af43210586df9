package group

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

type nodeID = phalanx.NodeID

func TestAgree(t *testing.T) {
	for _, c := range []struct {
		op   Op
		want int64
	}{{And, 0b1000}, {Or, 0b1111}, {Min, 0b1001}, {Max, 0b1110}} {
		w := newNet(t, 3)
		r := w.formed("g", roster(t, on(3, 3)...))
		values := []int64{0b1001, 0b1110, 0b1100}
		d := w.same(r, func() map[int]uint64 {
			ids := w.everyone("g", r, func(rank int) Contribution { return Contribution{For: ForAgree, Value: values[rank], Op: c.op} })
			w.run(100 * time.Millisecond)
			return ids
		}())
		if d.Outcome != OK || d.Decision.Value != c.want {
			t.Errorf("%v: %+v, want %b", c.op, d, c.want)
		}
	}
}

func TestAgreeSaysWhoFailedAndWhoWasAcknowledged(t *testing.T) {
	w := newNet(t, 5)
	r := w.formed("g", roster(t, on(5, 5)...))
	w.kill(1)
	w.kill(3)
	ids := w.everyone("g", r, func(rank int) Contribution {
		c := Contribution{For: ForAgree, Op: Min, Acked: []int{1}}
		if rank == 2 {
			c.Acked = append(c.Acked, 3)
		}
		return c
	})
	w.run(100 * time.Millisecond)
	if d := w.same(r, ids); !slices.Equal(d.Decision.Failed, []int{1, 3}) || !slices.Equal(d.Decision.Unacknowledged, []int{3}) {
		t.Errorf("%+v", d)
	}
	if got := w.failed["g"][node(0)]; !slices.Equal(got, []int{1, 3}) {
		t.Errorf("rank 0 is told of %v", got)
	}
}

func TestCallsThatDiffer(t *testing.T) {
	w := newNet(t, 2)
	r := w.formed("g", roster(t, on(2, 2)...))
	for _, c := range []struct {
		says string
		part func(rank int) Contribution
	}{
		{"call agree", func(rank int) Contribution { return []Contribution{{For: ForAgree, Op: And}, {For: ForShrink}}[rank] }},
		{"by and", func(rank int) Contribution { return Contribution{For: ForAgree, Op: And + Op(rank)} }},
	} {
		ids := w.everyone("g", r, c.part)
		w.run(100 * time.Millisecond)
		if d := w.same(r, ids); d.Outcome != Mismatch || !strings.Contains(d.Decision.Mismatch, c.says) {
			t.Errorf("%+v, want %q", d, c.says)
		}
	}
}

// Whatever message the coordinator dies after, and the next one too, those who are
// left end with the same.
func TestCoordinatorsDie(t *testing.T) {
	for _, what := range []Purpose{ForAgree, ForShrink, ForForm} {
		for k := 1; k < 60; k++ {
			for gap := 1; gap < 30; gap += 4 {
				t.Run(fmt.Sprint(what, " ", k, " ", gap), func(t *testing.T) {
					w := newNet(t, 5)
					r := roster(t, on(5, 7)...)
					if what != ForForm {
						w.formed("g", r)
					}
					w.delivered = 0
					w.after = func(n int) {
						switch n {
						case k:
							w.kill(0)
						case k + gap:
							w.kill(1)
						}
					}
					var ids map[int]uint64
					if what == ForForm {
						ids = map[int]uint64{}
						for rank, id := range w.form("g", r) {
							ids[rank] = id
						}
					} else {
						ids = w.everyone("g", r, func(rank int) Contribution { return Contribution{For: what, Op: Max, Value: int64(10 - rank)} })
					}
					w.run(3 * time.Second)
					if d := w.same(r, ids); d.Outcome != OK {
						t.Errorf("%+v", d)
					}
					if what != ForShrink {
						return
					}
					w.after = nil
					n := w.same(r, ids).Roster
					again := map[int]uint64{}
					for rank, m := range n.Members() {
						if !w.dead[m.Node] {
							again[rank] = w.call(w.index(m.Node), Call{Kind: CallAgree, Group: w.same(r, ids).Group, Rank: rank, Contribution: Contribution{For: ForShrink}})
						}
					}
					w.run(time.Second)
					if d := w.same(n, again); d.Outcome != OK || d.Roster.Len() != len(again) {
						t.Errorf("the new group shrinks to %+v", d)
					}
				})
			}
		}
	}
}

// A coordinator of an old view, which does not know that it was removed, decides nothing.
func TestRemovedCoordinatorDecidesNothing(t *testing.T) {
	w := newNet(t, 3)
	r := w.formed("g", roster(t, on(3, 3)...))
	cut := true
	w.lose = func(from, to nodeID, m Message) bool { _, is := m.(Accept); return is && cut && to == node(0) }
	ids := w.everyone("g", r, func(rank int) Contribution { return Contribution{For: ForAgree, Op: Max, Value: int64(rank)} })
	w.run(20 * time.Millisecond)
	w.view++
	members := map[nodeID]bool{node(1): true, node(2): true}
	for i := 1; i < 3; i++ {
		w.step(node(i), Viewed{Self: node(i), Number: w.view, Members: members})
	}
	cut = false
	w.run(time.Second)
	if d, ok := w.done[ids[0]]; ok {
		t.Errorf("who was removed is told %+v", d)
	}
	if d := w.done[ids[1]]; d.Decision.Value != 2 || d.Decision.Value != w.done[ids[2]].Decision.Value {
		t.Errorf("the others are told %+v and %+v", d, w.done[ids[2]])
	}
}

// Who does not come is named by those who give up, and can come later.
func TestGiveUp(t *testing.T) {
	w := newNet(t, 3)
	r := roster(t, on(3, 3)...)
	a := w.call(0, Call{Kind: CallForm, Group: "g", Roster: r, Rank: 0})
	b := w.call(1, Call{Kind: CallForm, Group: "g", Roster: r, Rank: 1})
	w.run(time.Second)
	w.step(node(1), GiveUp{b})
	if got := w.givenUp[b].Absent; !slices.Equal(got, []string{string(node(2))}) {
		t.Errorf("absent are %v", got)
	}
	w.call(2, Call{Kind: CallForm, Group: "g", Roster: r, Rank: 2})
	w.run(time.Second)
	if d, ok := w.done[a]; !ok || d.Outcome != OK {
		t.Errorf("%+v", d)
	}
	if got := w.failed["g"][node(0)]; !slices.Equal(got, []int{1}) { // nobody is there any more
		t.Errorf("failed are %v", got)
	}
}

func TestGrow(t *testing.T) {
	for _, early := range []bool{true, false} {
		w := newNet(t, 4)
		r := w.formed("g", roster(t, on(3, 3)...))
		w.kill(1)
		newcomer := Member{Node: node(3), Label: "new"}
		var joins uint64
		if early {
			joins = w.call(3, Call{Kind: CallAwait, Label: "new"})
		}
		ids := w.everyone("g", r, func(int) Contribution { return Contribution{For: ForGrow, Newcomers: []Member{newcomer}} })
		w.run(300 * time.Millisecond)
		if !early {
			joins = w.call(3, Call{Kind: CallAwait, Label: "new"})
		}
		w.run(2 * time.Second)
		d := w.done[joins]
		if d.Outcome != OK || d.Rank != 2 || d.Group != "g~1-"+strings.TrimPrefix(d.Group, "g~1-") || d.Roster.Len() != 3 {
			t.Fatalf("early %v: the newcomer is told %+v", early, d)
		}
		for rank, id := range ids {
			if got := w.done[id]; got.Outcome != OK || got.Group != d.Group || got.Rank != rank/2 {
				t.Errorf("early %v: rank %d is told %+v", early, rank, got)
			}
		}
	}
}

// A newcomer that dies does not keep the others from going on.
func TestNewcomerDies(t *testing.T) {
	w := newNet(t, 3)
	r := w.formed("g", roster(t, on(2, 2)...))
	ids := w.everyone("g", r, func(int) Contribution {
		return Contribution{For: ForGrow, Newcomers: []Member{{Node: node(2)}}}
	})
	w.run(300 * time.Millisecond)
	w.kill(2)
	w.run(time.Second)
	if d := w.same(r, map[int]uint64{0: ids[0], 1: ids[1]}); d.Outcome != OK || !slices.Equal(d.Failed, []int{2}) {
		t.Errorf("%+v", d)
	}
}

func TestNames(t *testing.T) {
	w := newNet(t, 3)
	r := w.formed("g", roster(t, on(2, 2)...))
	other := roster(t, on(3, 3)...)
	expect := func(i int, c Call, want Outcome) {
		t.Helper()
		id := w.call(i, c)
		w.run(200 * time.Millisecond)
		if d, ok := w.done[id]; !ok || d.Outcome != want {
			t.Errorf("%+v, %v; want outcome %d", d, ok, want)
		}
	}
	expect(0, Call{Kind: CallForm, Group: "g", Roster: r, Rank: 0}, Used)
	expect(1, Call{Kind: CallForm, Group: "g", Roster: other, Rank: 1}, Used)
	expect(2, Call{Kind: CallAgree, Group: "g", Rank: 2}, NotMember)
	w.call(0, Call{Kind: CallClose, Group: "g", Rank: 0})
	expect(0, Call{Kind: CallAgree, Group: "g", Rank: 0}, NotMember)
	w.call(1, Call{Kind: CallClose, Group: "g", Rank: 1})
	w.run(time.Second)
	if len(w.nodes[node(0)].groups) > 0 {
		t.Error("a group that all have left is kept")
	}
	w.formed("g", r)
}

// Members that give different lists are told so, all of them.
func TestListsThatDiffer(t *testing.T) {
	for _, lists := range [][2][]Member{
		{on(3, 3), {{Node: node(1)}, {Node: node(0)}, {Node: node(2)}}}, // with other coordinators
		{on(3, 3), {{Node: node(0)}, {Node: node(2)}, {Node: node(1)}}},
	} {
		w := newNet(t, 3)
		a, b := roster(t, lists[0]...), roster(t, lists[1]...)
		ids := []uint64{
			w.call(0, Call{Kind: CallForm, Group: "g", Roster: a, Rank: 0}),
			w.call(1, Call{Kind: CallForm, Group: "g", Roster: b, Rank: slices.Index(b.Members(), Member{Node: node(1)})}),
			w.call(2, Call{Kind: CallForm, Group: "g", Roster: a, Rank: 2}),
		}
		w.run(2 * time.Second)
		for i, id := range ids {
			if d, ok := w.done[id]; !ok || d.Outcome != Mismatch {
				t.Errorf("node %d is told %+v, %v", i, d, ok)
			}
		}
	}
}

// A node that was removed and joins again is in none of its groups any more.
func TestRejoin(t *testing.T) {
	w := newNet(t, 3)
	r := w.formed("g", roster(t, on(3, 3)...))
	id := w.call(2, Call{Kind: CallAgree, Group: "g", Rank: 2, Contribution: Contribution{For: ForAgree, Op: And}})
	core := w.nodes[node(2)]
	w.kill(2)
	delete(w.dead, node(2))
	w.view++
	again := phalanx.MakeNodeID("n02", 2)
	for _, o := range core.Step(w.now, Viewed{Self: again, Number: w.view, Members: map[nodeID]bool{node(0): true, node(1): true, again: true}}) {
		switch o := o.(type) {
		case Done:
			if o.ID != id || o.Outcome != Removed {
				t.Errorf("%+v", o)
			}
			id = 0
		case Ended:
			if o.Group != "g" {
				t.Errorf("%+v", o)
			}
		}
	}
	if id != 0 {
		t.Error("its call does not end")
	}
	if len(core.groups) > 0 {
		t.Error("it is in a group still")
	}
	_ = r
}

func TestRosters(t *testing.T) {
	for _, c := range []struct {
		says    string
		members []Member
	}{
		{"0 members", nil},
		{"rank 1: n00#1 is rank 0 already", []Member{{Node: node(0)}, {Node: node(0)}}},
		{"rank 0: it has no node", []Member{{}}},
		{"unprintable", []Member{{Node: node(0), Label: "\x00"}}},
	} {
		if _, err := NewRoster(c.members); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v, want %q", c.members, err, c.says)
		}
	}
	for _, name := range []string{"", "a~b", "\x01", strings.Repeat("x", 201), "\xff"} {
		if ValidName(name) == "" {
			t.Errorf("%q is valid", name)
		}
	}
	a := childName("train", 1, 3)
	b := childName(a, 1, 3)
	if !strings.HasPrefix(a, "train~1-") || !strings.HasPrefix(b, "train~2-") || a == childName("train", 1, 4) {
		t.Errorf("children %q, %q", a, b)
	}
}
