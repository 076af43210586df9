package reduce_test

import (
	"fmt"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

// Of sources that are all ready when they are asked for, that of the node that
// asked makes the result, whatever the tree and its place in the request; unless
// there is no room for it.
func TestTheRootIsWhereTheResultWasAskedFor(t *testing.T) {
	for n := 1; n <= 7; n++ {
		for _, degree := range []int{1, 2, n} {
			for own := range n {
				cfg := reduce.Config{Target: "T", Num: n, Op: phalanx.Sum, Node: "n0", Attempt: 1, Degree: degree}
				var s reduce.Surveyed
				for i := range n {
					id, at := phalanx.ObjectID(fmt.Sprint("s", i)), phalanx.NodeID(fmt.Sprint("n", 1+i))
					if i == own {
						at = cfg.Node
					}
					cfg.Sources = append(cfg.Sources, id)
					s.Ready = append(s.Ready, reduce.Ready{Source: id, Node: at, Gen: phalanx.Generation{Epoch: 1, Seq: 1},
						Meta: phalanx.Meta{Size: 64, DType: phalanx.Int64, Shape: []int64{8}}, Kind: reduce.Complete, Final: true})
				}
				for room, want := range map[int64]phalanx.ObjectID{64: cfg.Sources[own], 63: cfg.Sources[reduce.NewTree(n, degree).Rank(0)]} {
					cfg.Room = room
					c := reduce.New(cfg)
					c.Step(reduce.Start{})
					c.Step(reduce.Begun{Gen: phalanx.Generation{Epoch: 1, Seq: 2}})
					c.Step(s)
					for _, p := range c.Places() {
						if p.Parent < 0 && p.Source != want {
							t.Errorf("%d sources, degree %d, room for %d: the root is %s, not %s", n, degree, room, p.Source, want)
						}
					}
					if len(c.Places()) != n {
						t.Errorf("%d sources, degree %d: %d places", n, degree, len(c.Places()))
					}
				}
			}
		}
	}
}
