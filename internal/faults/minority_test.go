package faults

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/internal/bed"
)

// Two nodes of six are cut off. They read what they have, and finish what is on the
// way between them; everything else they are asked ends in ErrUnavailable, also what
// an open reader still waits for, and what is read from one that waits itself. The others go on, and when the cut ends all are
// one cluster again.
func TestAMinorityIsCutOff(t *testing.T) {
	for _, leads := range []bool{false, true} {
		t.Run(map[bool]string{false: "without the leader", true: "with the leader"}[leads], func(t *testing.T) {
			if leads {
				needsWide(t)
			}
			nodes := start(t, 6)
			s := nodes[0].state(t)
			cutOff := slices.IndexFunc(nodes, func(p *process) bool { // a voter
				id := p.id(t)
				return slices.Contains(s.Voters, id) && (id == s.Leader) == leads
			})
			other := slices.IndexFunc(nodes, func(p *process) bool { return !slices.Contains(s.Voters, p.id(t)) })
			minority := []*process{nodes[cutOff], nodes[other]}
			majority := slices.DeleteFunc(slices.Clone(nodes), func(p *process) bool { return slices.Contains(minority, p) })
			a, b, c := minority[0], minority[1], majority[0]

			had, between, read, doomed := fresh("had"), fresh("between"), fresh("read"), fresh("doomed")
			must(t, tell(c, order{Do: "put", Object: had, Size: 1 << 20}), tell(a, order{Do: "put", Object: between, Size: large}),
				tell(c, order{Do: "put", Object: read, Size: large}), tell(c, order{Do: "put", Object: doomed, Size: 1 << 10}))
			must(t, tell(a, order{Do: "get", Object: had, Size: 1 << 20}))
			var theirs []phalanx.ObjectID // in shards of all kinds
			for range 8 {
				id := fresh("theirs")
				theirs = append(theirs, id)
				must(t, tell(c, order{Do: "put", Object: id, Size: 1 << 10}))
			}

			waits := []call{tell(a, order{Do: "reduce", Object: fresh("sum"), Sources: append(theirs[:2:2], fresh("never")), Num: 3}),
				tell(b, order{Do: "get", Object: fresh("never"), Size: 1 << 10})}
			before := states(t, minority)
			opened := tell(a, order{Do: "open", Object: read, Size: large})
			growing(t, a, before[0])
			was := []phalanx.NodeID{a.id(t), b.id(t)}
			behind := []call{tell(b, order{Do: "open", Object: read, Size: large}), tell(b, order{Do: "get", Object: read, Size: large})}
			eventually(t, func() string { // the origin is busy with a
				if s := must(t, tell(c, order{Do: "stat", Object: read}))[0].Text; !strings.Contains(s, fmt.Sprintf("%s from %s\n", was[1], was[0])) {
					return "b does not read from a, but:\n" + s
				}
				return ""
			})
			moves := tell(b, order{Do: "get", Object: between, Size: large})
			growing(t, b, before[1])
			var cuts []bed.Cut
			for _, p := range minority {
				for _, q := range majority {
					cuts = append(cuts, bed.Between(p.host, q.host)...)
				}
			}
			t.Cleanup(func() { do(t, shared.HealAll()) })
			do(t, shared.Cut(cuts...))

			unavailable := func(calls ...call) {
				t.Helper()
				for _, call := range calls {
					if l := call.answer(t); l.ErrKind != phalanx.ErrUnavailable {
						t.Errorf("%s on %s ended with %q, want unavailable", call, call.of.name, l.Err)
					}
				}
			}
			unavailable(append(append(waits, opened), behind...)...)
			must(t, moves, tell(a, order{Do: "get", Object: had, Size: 1 << 20}), tell(b, order{Do: "get", Object: between, Size: large}))
			var refused []call
			for i, id := range theirs {
				new := fresh("late")
				refused = append(refused, tell(a, order{Do: "get", Object: id, Size: 1 << 10}), tell(b, order{Do: "stat", Object: id}),
					tell(minority[i%2], order{Do: "put", Object: new, Size: 1 << 10}), tell(b, order{Do: "delete", Object: id}),
					tell(a, order{Do: "reduce", Object: fresh("sum"), Sources: theirs[:2], Num: 2}))
			}
			for _, p := range majority {
				for _, id := range was {
					expect(t, p, func(e actors.NodeDown) bool { return e.Node == id })
				}
			}
			must(t, tell(c, order{Do: "delete", Object: doomed}), tell(majority[1], order{Do: "put", Object: "new", Size: 1 << 20}))
			unavailable(refused...)
			for _, id := range theirs {
				must(t, tell(majority[2], order{Do: "get", Object: id, Size: 1 << 10}))
			}
			must(t, tell(majority[3], order{Do: "get", Object: "new", Size: 1 << 20}), tell(majority[3], order{Do: "get", Object: read, Size: large}))

			do(t, shared.HealAll())
			settle(t, nodes)
			for i, p := range minority {
				if now := p.id(t); now == was[i] {
					t.Errorf("%s was removed, and is still %s", p.name, now)
				}
				must(t, tell(p, order{Do: "get", Object: "new", Size: 1 << 20}), tell(p, order{Do: "get", Object: had, Size: 1 << 20}),
					tell(p, order{Do: "open", Object: read, Size: large}))
				if l := tell(p, order{Do: "get", Object: doomed, Size: 1 << 10}).answer(t); l.ErrKind != phalanx.ErrDeleted {
					t.Errorf("%s gets what was deleted meanwhile: %s", p.name, l.Err)
				}
			}
			nobodyElse(t, nodes, was...)
			level(t, nodes, append(theirs, had, between, read, "new")...)
		})
	}
}
