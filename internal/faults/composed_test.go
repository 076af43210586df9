package faults

import (
	"slices"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
)

// A node with a place of a reduce fails whose target is a source of another
// reduce, which was asked for first. Whatever the outer one had of the inner one's
// target, it has the repaired one in the end.
func TestComposedReduce(t *testing.T) {
	each(t, func(t *testing.T, f fault) {
		nodes := start(t, 6)
		before := states(t, nodes)
		asks := nodes[0]
		name := fresh("composed")
		ids := sources(name, nodes)
		var puts []call
		for i, p := range nodes {
			puts = append(puts, tell(p, order{Do: "put", Object: ids[i], Size: large}))
		}
		must(t, puts...)
		inner := order{Do: "reduce", Object: name + "/inner", Sources: ids[1:4], Num: 2, Degree: 1}
		outer := order{Do: "reduce", Object: name + "/outer", Sources: []phalanx.ObjectID{ids[4], ids[5], inner.Object}, Num: 3, Degree: 1}
		outerCall, innerCall := tell(asks, outer), tell(asks, inner)
		tree := whole(t, asks, inner.Object, inner.Num)
		victim, top := leaf.with(t, nodes, tree), root.with(t, nodes, tree)
		growing(t, top, before[slices.Index(nodes, top)])
		was := f.happens(t, victim)
		if f.fate == kept {
			crawls(t, victim)
			f.heal(t, victim)
		} else {
			lost := expect(t, asks, func(e actors.PlaceLost) bool { return e.Target == inner.Object && e.Node == was })
			expect(t, asks, func(e actors.PlaceReplaced) bool {
				return e.Target == inner.Object && e.Place == lost.Place && e.Node != was
			})
		}
		both := must(t, innerCall, outerCall)
		check := func(nodes []*process) {
			t.Helper()
			checkReduce(t, nodes, inner, both[0])
			if l := both[1]; len(l.In) != 3 || !slices.Contains(l.In, inner.Object) {
				t.Fatalf("the outer reduce has %v", l.In)
			}
			var gets []call
			for _, p := range nodes {
				gets = append(gets, tell(p, order{Do: "get", Object: outer.Object, Size: large, Sources: append(slices.Clone(both[0].In), ids[4:]...)}))
			}
			must(t, gets...)
		}
		check(without(nodes, victim))
		members := f.ends(t, nodes, victim, was)
		check(members)
		level(t, members, append(ids, inner.Object, outer.Object)...)
	}, "stop")
}
