package group

import (
	"strings"
	"testing"
	"time"
)

// Others who want the name of a group that is whole are told so soon, and who is in it; at its
// coordinator, and by a member that the coordinator of the others asks.
func TestANameInUse(t *testing.T) {
	for _, nodes := range [][]int{{0, 2, 3}, {2, 3, 0}, {2, 0, 3}} {
		w := newNet(t, 4)
		w.formed("g", roster(t, on(2, 2)...))
		var members []Member
		for _, n := range nodes {
			members = append(members, Member{Node: node(n)})
		}
		r := roster(t, members...)
		var ids []uint64
		for rank, n := range nodes {
			if n != 0 {
				ids = append(ids, w.call(n, Call{Kind: CallForm, Group: "g", Roster: r, Rank: rank}))
			}
		}
		w.run(5 * time.Second)
		for _, id := range ids {
			d, ok := w.done[id]
			if text := d.Decision.Mismatch; !ok || d.Outcome != Mismatch || !strings.Contains(text, string(node(0))) || !strings.Contains(text, string(node(1))) {
				t.Errorf("%v: %+v, %v", nodes, d, ok)
			}
		}
		w.run(10 * time.Second)
		for i := range 4 {
			if has := w.nodes[node(i)].groups["g"] != nil; has != (i < 2) {
				t.Errorf("%v: node %d knows the group: %v", nodes, i, has)
			}
		}
	}
}

// A training that begins again with one member more waits for those who leave: all soon, or one
// of them soon and the others late.
func TestANameThatIsAboutToBeFree(t *testing.T) {
	for _, late := range []time.Duration{0, 20 * time.Second} {
		for _, nodes := range [][]int{{0, 1, 2}, {2, 1, 0}} {
			w := newNet(t, 3)
			w.formed("g", roster(t, on(2, 2)...))
			var members []Member
			for _, n := range nodes {
				members = append(members, Member{Node: node(n)})
			}
			r := roster(t, members...)
			ids := make([]uint64, 3)
			begin := func(n int) {
				for rank, other := range nodes {
					if other == n {
						ids[n] = w.call(n, Call{Kind: CallForm, Group: "g", Roster: r, Rank: rank})
					}
				}
			}
			begin(2)
			w.run(1500 * time.Millisecond)
			for n := range 2 {
				w.call(n, Call{Kind: CallClose, Group: "g", Rank: n})
				begin(n)
				w.run(late)
			}
			w.run(5 * time.Second)
			for n, id := range ids {
				if d, ok := w.done[id]; !ok || d.Outcome != OK {
					t.Errorf("late %v, %v: node %d: %+v, %v", late, nodes, n, d, ok)
				}
			}
		}
	}
}
