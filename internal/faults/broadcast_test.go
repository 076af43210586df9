package faults

import (
	"fmt"
	"slices"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
)

// middle returns one of some nodes of a broadcast through which bytes go on to
// another, which has a quarter of them, and misses more than there can be in the
// buffers between the two.
func middle(t testing.TB, nodes, of []*process, at *process, id phalanx.ObjectID) (victim, below *process) {
	t.Helper()
	eventually(t, func() string {
		tree := treeOf(t, at, id)
		held := map[phalanx.NodeID]int64{}
		for _, n := range tree.Nodes {
			held[n.Node] = n.Held
		}
		for _, e := range tree.Edges {
			victim, below = on(t, nodes, e.From), on(t, nodes, e.To)
			if slices.Contains(of, victim) && held[e.To] > large/4 && held[e.To] < large*5/8 {
				return ""
			}
		}
		return fmt.Sprintf("no chain: %+v", tree)
	})
	return victim, below
}

// A node in the middle of a chain fails. Those below it go on from another
// sender, with what they miss.
func TestBroadcast(t *testing.T) {
	each(t, func(t *testing.T, f fault) {
		nodes := start(t, 6)
		id := fresh("broadcast")
		origin := nodes[1]
		must(t, tell(origin, order{Do: "put", Object: id, Size: large}))
		gets := map[*process]call{}
		for _, p := range without(nodes, origin) {
			gets[p] = tell(p, order{Do: "get", Object: id, Size: large})
		}
		victim, below := middle(t, nodes, without(nodes, origin), origin, id)
		was := f.happens(t, victim)
		if f.fate == kept { // as slow as it is, it goes on
			crawls(t, victim)
			f.heal(t, victim)
		} else if f.mute {
			lost := expect(t, below, func(e actors.SenderLost) bool { return e.Object == id && e.Sender == was })
			resumed := expect(t, below, func(e actors.TransferResumed) bool { return e.Object == id && e.Sender != was })
			if resumed.Offset < large/5 || lost.Offset > resumed.Offset {
				t.Errorf("lost at %d, resumed at %d", lost.Offset, resumed.Offset)
			}
		}
		for p, get := range gets {
			if p != victim {
				must(t, get)
			}
		}
		members := f.ends(t, nodes, victim, was)
		if f.fate != gone { // whatever became of its call
			if l := gets[victim].answer(t); l.Err != "" && l.ErrKind != phalanx.ErrFenced {
				t.Errorf("the victim's call: %s", l.Err)
			}
			must(t, tell(victim, order{Do: "get", Object: id, Size: large}))
		}
		level(t, members, id)
	}, "kill", "reset", "slow")
}
