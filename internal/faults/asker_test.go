package faults

import (
	"fmt"
	"slices"
	"testing"

	"github.com/phalanx-go/phalanx/actors"
)

// The node that asked for a reduce fails in the middle of it. Nothing of the reduce
// is left on the others, who have their sources; another node can ask for the same
// target, and who waits for that has what comes of it.
func TestWhoAskedForAReduceFails(t *testing.T) {
	each(t, func(t *testing.T, f fault) {
		if f.fate == kept {
			t.Skip("it goes on")
		}
		nodes := start(t, 6)
		asks, others := nodes[0], nodes[1:]
		id := fresh("asked")
		ids := sources(id, others)
		var puts []call
		for i, p := range others {
			puts = append(puts, tell(p, order{Do: "put", Object: ids[i], Size: large}))
		}
		must(t, puts...)
		before := states(t, others)
		o := order{Do: "reduce", Object: id, Sources: ids, Num: len(ids), Degree: 2}
		reduce := tell(asks, o)
		top := root.with(t, nodes, whole(t, asks, id, o.Num))
		growing(t, top, before[slices.Index(others, top)])
		waits := tell(others[0], order{Do: "get", Object: id, Size: large, Sources: ids})
		was := f.happens(t, asks)
		removed(t, others, was)
		for i, p := range others {
			eventually(t, func() string {
				s := p.state(t)
				used, had := s.Memory.Used-s.Memory.Idle-s.Memory.Directory, before[i].Memory.Used-before[i].Memory.Idle-before[i].Memory.Directory
				if s.Reduces+s.Places > 0 || p != others[0] && (s.Fetching > 0 || s.Objects != before[i].Objects || used != had) {
					return fmt.Sprintf("%s has %d reduces, %d places, %d fetches, %d objects, %d bytes; it had %d objects, %d bytes", s.Node,
						s.Reduces, s.Places, s.Fetching, s.Objects, used, before[i].Objects, had)
				}
				return ""
			})
		}
		got := must(t, tell(others[1], o), waits)[0]
		checkReduce(t, others, o, got)
		members := f.ends(t, nodes, asks, was)
		if f.fate != gone {
			if l := reduce.answer(t); l.Err == "" {
				t.Errorf("the reduce of a node that was removed ended with %v", l.In)
			}
		}
		checkReduce(t, members, o, got)
		for i, p := range others {
			must(t, tell(p, order{Do: "get", Object: ids[i], Size: large}))
		}
		if n := len(seen(others[1], func(e actors.ReduceCompleted) bool { return e.Target == id })); n != 1 {
			t.Errorf("it was completed %d times", n)
		}
		level(t, members, append(ids, id)...)
	}, "stop")
}
