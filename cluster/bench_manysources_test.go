package cluster_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
)

// BenchmarkReduceOfManySources reduces ever more small arrays, which lie on three
// nodes of one process. The time per source should not grow with their number.
func BenchmarkReduceOfManySources(b *testing.B) {
	for _, n := range []int{1000, 10_000, 20_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			nodes := start(b, 3, silent, func(c *cluster.Config) { c.Memory = 2 << 30 })
			steady(b, nodes)
			b.Cleanup(func() { // before they would hand over their objects, which takes longer than the rest
				for _, n := range nodes {
					n.Close()
				}
			})
			ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
			defer cancel()
			began := time.Now()
			sources := putMany(ctx, b, nodes, n)
			b.ReportMetric(float64(time.Since(began).Microseconds())/float64(n), "put-µs/source")
			b.ResetTimer()
			for i := range b.N {
				target := phalanx.ObjectID(fmt.Sprintf("sum/%d/%d", n, i))
				r, err := nodes[i%len(nodes)].Reduce(ctx, storenode.Reduce{Target: target, Sources: sources, Op: phalanx.Sum})
				if err != nil || len(r.In) != n {
					b.Fatalf("of %d sources %d are in: %v", n, len(r.In), err)
				}
			}
			b.StopTimer()
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(n), "µs/source")
		})
	}
}
