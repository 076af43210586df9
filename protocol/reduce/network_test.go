package reduce_test

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

// The degree is chosen by the paths to the nodes that have the sources (specification
// 4.4): by the mean of their latencies and the least of their bandwidths.
func TestTheDegreeIsChosenByThePathsToTheHolders(t *testing.T) {
	const n = 8
	near := reduce.Path{Latency: 20 * time.Microsecond, Bandwidth: 1.25e9}
	far := reduce.Path{Latency: 20 * time.Millisecond, Bandwidth: 1.25e9}
	thin := reduce.Path{Latency: 20 * time.Microsecond, Bandwidth: 1e6}
	for _, c := range []struct {
		name   string
		size   int64
		paths  func(i int) reduce.Path // of the node that has source i; -1: of one that has none
		degree int
	}{
		{"nothing was measured", 8 << 20, func(int) reduce.Path { return reduce.Path{} }, 1},
		{"near nodes", 8 << 20, func(int) reduce.Path { return near }, 1},
		{"far nodes", 8 << 20, func(int) reduce.Path { return far }, 2},
		{"a far node that has none", 8 << 20, func(i int) reduce.Path {
			if i < 0 {
				return far
			}
			return near
		}, 1},
		{"half of them far", 8 << 20, func(i int) reduce.Path {
			if i%2 == 0 {
				return far
			}
			return near
		}, 2},
		{"small and near", 100 << 10, func(int) reduce.Path { return reduce.Path{Latency: time.Millisecond, Bandwidth: 1.25e9} }, n},
		{"small, and one of them behind a thin link", 100 << 10, func(i int) reduce.Path {
			if i == 3 {
				return thin
			}
			return reduce.Path{Latency: time.Millisecond, Bandwidth: 1.25e9}
		}, 1},
		{"only one that has none was measured", 8 << 20, func(i int) reduce.Path {
			if i < 0 {
				return far
			}
			return reduce.Path{}
		}, 2},
	} {
		cfg := reduce.Config{Target: "T", Num: n, Op: phalanx.Sum, Node: "C", Attempt: 1, Latency: 200 * time.Microsecond, Bandwidth: 1.25e9,
			Paths: map[phalanx.NodeID]reduce.Path{"other": c.paths(-1)}}
		var ready []reduce.Ready
		for i := range n {
			id, node := phalanx.ObjectID('a'+rune(i)), phalanx.NodeID('A'+rune(i))
			cfg.Sources = append(cfg.Sources, id)
			cfg.Paths[node] = c.paths(i)
			ready = append(ready, reduce.Ready{Source: id, Node: node, Gen: phalanx.Generation{Epoch: 1, Seq: 1},
				Meta: phalanx.Meta{Size: c.size, DType: phalanx.Int64, Shape: []int64{c.size / 8}}, Kind: reduce.Complete, Final: true})
		}
		core := reduce.New(cfg)
		core.Step(reduce.Start{})
		core.Step(reduce.Begun{Gen: phalanx.Generation{Epoch: 1, Seq: 1}})
		degree := 0
		for _, e := range core.Step(reduce.Surveyed{Ready: ready}) {
			if r, ok := e.(reduce.Remember); ok {
				degree = r.Degree
			}
		}
		if degree != c.degree {
			t.Errorf("%s: the degree is %d, want %d", c.name, degree, c.degree)
		}
	}
}
