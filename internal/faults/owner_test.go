package faults

import (
	"slices"
	"syscall"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
)

// A node that knows much and has no bytes of its own dies in the middle of a
// broadcast and of a reduce: the owner of their shards, or the leader of the
// voters. What was acknowledged stays, what goes on goes on, and who waits for an
// id has what is put under it then.
func TestAnOwnerOrTheLeaderDies(t *testing.T) {
	for _, leads := range []bool{false, true} {
		t.Run(map[bool]string{false: "owner", true: "leader"}[leads], func(t *testing.T) {
			nodes := start(t, 6)
			leader := on(t, nodes, nodes[0].state(t).Leader)
			at := slices.IndexFunc(nodes, func(p *process) bool { return (p == leader) == leads })
			victim, others := nodes[at], without(nodes, nodes[at])
			owned := func(name string) phalanx.ObjectID { // by the victim, unless that only leads
				for {
					id := fresh(name)
					if owner, _ := replicas(t, nodes, id); (owner == victim) != leads {
						return id
					}
				}
			}
			origin, asks := others[0], others[1]
			had := things{fresh("kept"), fresh("dropped"), fresh("twice")}
			had.put(t, origin)
			cast, sum := owned("broadcast"), owned("reduce")
			ids := sources(sum, others)
			puts := []call{tell(origin, order{Do: "put", Object: cast, Size: large})}
			for i, p := range others {
				puts = append(puts, tell(p, order{Do: "put", Object: ids[i], Size: large}))
			}
			must(t, puts...)
			later := []phalanx.ObjectID{owned("later")}
			for range 8 { // in shards of all kinds
				later = append(later, fresh("later"))
			}
			var calls []call
			for i, id := range later {
				for _, p := range others {
					calls = append(calls, tell(p, order{Do: "get", Object: id, Size: laterSize(i)}))
				}
			}
			before := states(t, nodes)
			o := order{Do: "reduce", Object: sum, Sources: ids, Num: len(ids), Degree: 2}
			reduce := tell(asks, o)
			for _, p := range without(nodes, origin) {
				if get := tell(p, order{Do: "get", Object: cast, Size: large}); p != victim {
					calls = append(calls, get)
				}
			}
			top := root.with(t, nodes, whole(t, asks, sum, o.Num))
			growing(t, top, before[slices.Index(nodes, top)])
			was := victim.id(t)
			if done := seen(asks, func(e actors.ReduceCompleted) bool { return e.Target == sum }); len(done) > 0 || len(holders(t, nodes, cast)) == len(nodes) {
				t.Fatal("the reduce or the broadcast was over before")
			}
			victim.signal(t, syscall.SIGKILL)
			puts = nil
			for i, id := range later {
				puts = append(puts, tell(others[i%len(others)], order{Do: "put", Object: id, Size: laterSize(i)}))
			}
			must(t, append(puts, calls...)...)
			checkReduce(t, others, o, must(t, reduce)[0])
			removed(t, others, was)
			settle(t, others)
			had.check(t, others)
			had.drop(t, origin)
			level(t, others, append(append(ids, later...), cast, sum)...)
		})
	}
}

// laterSize is small for every other object, whose bytes are in the directory.
func laterSize(i int) int64 {
	if i%2 == 0 {
		return small
	}
	return 1 << 20
}
