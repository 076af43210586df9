package barrier_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/barrier"
)

// BenchmarkMany has barriers of three opened at once on three nodes of one process: from
// the first Enter until the last one has returned.
//
//	ms/all     goal: 3000 for 10,000
//	us/barrier does not grow with how many there are
func BenchmarkMany(b *testing.B) {
	for _, k := range []int{10, 100, 1000, 10_000} {
		b.Run(fmt.Sprintf("open=%d", k), func(b *testing.B) {
			nodes := start(b, 3)
			cfg := barrier.Config{Max: 3}
			total := time.Duration(0)
			for round := range b.N {
				var all sync.WaitGroup
				ctx := within(b)
				began := time.Now()
				for i := range k {
					for _, n := range nodes {
						all.Add(1)
						open(b, n, fmt.Sprintf("many/%d/%d", round, i), cfg).EnterFunc(ctx, barrier.Entry{}, func(_ barrier.Passage, err error) {
							if err != nil {
								b.Error(err)
							}
							all.Done()
						})
					}
				}
				all.Wait()
				total += time.Since(began)
			}
			each := total / time.Duration(b.N)
			unit := "ms/all"
			if k == 10_000 {
				unit = "ms/all(goal:3000)"
			}
			b.ReportMetric(each.Seconds()*1e3, unit)
			b.ReportMetric(each.Seconds()*1e6/float64(k), "us/barrier")
			b.ReportMetric(0, "ns/op")
		})
	}
}
