package group

import (
	"fmt"
	"runtime"
	"testing"
	"time"
)

// bytes is what the cores of all nodes say that they hold.
func (w *net) bytes() (sum int64) {
	for _, c := range w.nodes {
		sum += c.Bytes()
	}
	return sum
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// forms has all members form groups, and forgets the test's own notes of that.
func (w *net) forms(groups int, r *Roster) {
	for i := range groups {
		w.form(fmt.Sprint("g", i), r)
		if i%1000 == 999 {
			w.run(300 * ms)
			w.done, w.failed, w.queue = map[uint64]Done{}, map[string]map[nodeID][]int{}, nil
		}
	}
}

// What a core says that it holds is about what it takes of the heap, and nothing when all groups
// have ended; then the heap has no more than before either.
func TestBytesOfManyGroups(t *testing.T) {
	many := 10_000
	if testing.Short() {
		many = 3000
	}
	w := newNet(t, 3)
	r := roster(t, on(3, 3)...)
	before := heap()
	w.forms(many, r)
	took, said := heap()-before, w.bytes()
	t.Logf("%d groups on three nodes take %d bytes of the heap, %d of each on each node; said are %d", many, took, took/3/int64(many), said)
	if said > 2*took || took > 2*said {
		t.Errorf("%d bytes are said, and %d taken", said, took)
	}
	for i := range many {
		for rank := range 3 {
			w.call(rank, Call{Kind: CallClose, Group: fmt.Sprint("g", i), Rank: rank})
		}
		if i%1000 == 999 {
			w.run(100 * ms)
			w.failed = map[string]map[nodeID][]int{}
		}
	}
	w.queue = nil
	if said := w.bytes(); said != 0 {
		t.Errorf("when all groups are over, the nodes hold %d bytes", said)
	}
	left := heap() - before
	runtime.KeepAlive(w)
	t.Logf("when all are over, %d bytes are left", left)
	if left > 500_000 { // the room of three maps is more
		t.Errorf("when all groups are over, %d bytes of %d are left", left, took)
	}
}

// Groups that nobody forms in the end, that are left in part, or whose nodes die leave nothing.
func TestBytesOfGroupsThatEndOtherwise(t *testing.T) {
	const many = 1000
	for name, end := range map[string]func(w *net, r *Roster){
		"given up": func(w *net, r *Roster) {
			var ids []uint64
			for i := range many {
				ids = append(ids, w.call(i%2, Call{Kind: CallForm, Group: fmt.Sprint("g", i), Roster: r, Rank: i % 2}))
			}
			w.run(100 * ms)
			for i, id := range ids {
				w.step(node(i%2), GiveUp{ID: id})
			}
		},
		"given up, of some": func(w *net, r *Roster) {
			var ids []uint64
			for i := range many {
				ids = append(ids, w.call(1, Call{Kind: CallForm, Group: fmt.Sprint("g", i), Roster: r, Rank: 1, Contribution: Contribution{Quorum: Quorum{2, 10 * ms}}}))
			}
			w.run(100 * ms)
			for _, id := range ids {
				w.step(node(1), GiveUp{ID: id})
			}
		},
		"left by two, and the third dies": func(w *net, r *Roster) {
			w.forms(many, r)
			for i := range many {
				for rank := range 2 {
					w.call(rank, Call{Kind: CallClose, Group: fmt.Sprint("g", i), Rank: rank})
				}
			}
			w.run(100 * ms)
			w.kill(2)
		},
		"grown and shrunk": func(w *net, r *Roster) {
			for i := range many / 10 {
				name := fmt.Sprint("g", i)
				w.formed(name, r)
				for range 3 {
					ids := w.everyone(name, r, func(int) Contribution { return Contribution{For: ForShrink} })
					w.run(20 * ms)
					child := w.same(r, ids)
					for rank := range 3 {
						w.call(rank, Call{Kind: CallClose, Group: name, Rank: rank})
					}
					name = child.Group
				}
				for rank := range 3 {
					w.call(rank, Call{Kind: CallRevoke, Group: name, Rank: rank})
					w.call(rank, Call{Kind: CallClose, Group: name, Rank: rank})
				}
			}
		},
	} {
		w := newNet(t, 3)
		end(w, roster(t, on(3, 3)...))
		w.run(15 * time.Second)
		for i := range 3 {
			c := w.nodes[node(i)]
			if w.dead[node(i)] {
				continue
			}
			if said := c.Bytes(); said != 0 || len(c.groups)+len(c.calls)+len(c.held)+len(c.owed)+len(c.invites)+len(c.rosters)+c.due.Len() > 0 {
				t.Errorf("%s: node %d holds %d bytes: %d groups, %d calls, %d rosters, news for %d", name, i, said, len(c.groups), len(c.calls), len(c.rosters), len(c.owed))
			}
		}
	}
}
