package faults

import (
	"slices"
	"testing"

	"github.com/phalanx-go/phalanx/actors"
)

// One of the nodes of an allreduce fails in the middle of the ring. Its source has
// a second copy: the others go on as a tree, and all of them have the sum of all.
func TestAllReduce(t *testing.T) {
	each(t, allReduceWith, "kill", "drop")
}

func allReduceWith(t *testing.T, f fault) {
	nodes := start(t, 5)
	id := fresh("allreduce")
	ids := sources(id, nodes)
	var puts []call
	for i, p := range nodes {
		puts = append(puts, tell(p, order{Do: "put", Object: ids[i], Size: large, Copies: 2}))
	}
	must(t, puts...)
	before := states(t, nodes)
	o := order{Do: "allreduce", Object: id, Sources: ids, Num: len(ids), Size: large}
	var calls []call
	for _, p := range nodes {
		calls = append(calls, tell(p, o))
	}
	var leader *process // where its events are
	eventually(t, func() string {
		for _, p := range nodes {
			if len(seen(p, func(e actors.ReduceStarted) bool { return e.Target == id })) > 0 {
				leader = p
				return ""
			}
		}
		return "nobody has begun"
	})
	tree := whole(t, leader, id, len(nodes))
	if next, ok := parent(tree, 1); !ok || next != 2 {
		t.Fatalf("it is no ring: %+v", tree)
	}
	at := (slices.Index(nodes, leader) + 2) % len(nodes) // neither beside who runs it, nor that one
	victim := nodes[at]
	growing(t, victim, before[at])
	was := f.happens(t, victim)
	if f.fate == kept {
		crawls(t, victim)
		f.heal(t, victim)
	} else {
		expect(t, leader, func(e actors.PlaceLost) bool { return e.Target == id && e.Node == was })
		calls = slices.Delete(calls, at, at+1)
	}
	for _, l := range must(t, calls...) {
		if len(l.In) != len(ids) || len(l.Out) > 0 {
			t.Errorf("in the result are %v, not %v", l.In, l.Out)
		}
	}
	o.Num = len(ids)
	members := f.ends(t, nodes, victim, was)
	checkReduce(t, members, o, line{In: ids})
	level(t, members, append(ids, id)...)
}
