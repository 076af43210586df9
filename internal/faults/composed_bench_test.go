package faults

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// BenchmarkComposed compares three reduces, each of the target of the one before and
// of one array more, that are asked for at once, with one reduce alone: they stream
// through each other, so that together they take little longer. Nothing fails here.
//
//	go test ./internal/faults -run - -bench Composed -benchtime 5x
func BenchmarkComposed(b *testing.B) {
	const size = 32 << 20
	nodes := start(b, 6)
	b.Cleanup(func() { do(b, shared.HealAll()) })
	asks := nodes[0]
	var one, three time.Duration
	round := func() {
		name := fresh("chain")
		ids := sources(name, nodes)[1:5]
		var puts []call
		for i, id := range ids {
			puts = append(puts, tell(nodes[i+1], order{Do: "put", Object: id, Size: size}))
		}
		must(b, puts...)
		reduce := func(target phalanx.ObjectID, sources ...phalanx.ObjectID) order {
			return order{Do: "reduce", Object: target, Sources: sources, Num: len(sources)}
		}
		alone := name + "/alone"
		began := time.Now()
		must(b, tell(asks, reduce(alone, ids[0], ids[1])))
		one += time.Since(began)
		targets := []phalanx.ObjectID{name + "/1", name + "/2", name + "/3"}
		began = time.Now()
		must(b, tell(asks, reduce(targets[0], ids[0], ids[1])), tell(asks, reduce(targets[1], targets[0], ids[2])),
			tell(asks, reduce(targets[2], targets[1], ids[3])))
		three += time.Since(began)
		for _, id := range append(append(targets, alone), ids...) {
			must(b, tell(asks, order{Do: "delete", Object: id}))
		}
	}
	round() // connections and memory are there then
	one, three = 0, 0
	for b.Loop() {
		round()
	}
	b.ReportMetric(float64(one.Milliseconds())/float64(b.N), "one-ms")
	b.ReportMetric(float64(three.Milliseconds())/float64(b.N), "three-ms")
	b.ReportMetric(float64(three)/float64(one), "ratio")
	b.ReportMetric(0, "ns/op")
}
