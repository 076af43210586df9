package barrier_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/barrier"
)

// BenchmarkLeave has a node leave a cluster of five, of whose barriers it manages three in five. All have
// just fired.
//
//	s        how long Leave takes
func BenchmarkLeave(b *testing.B) {
	for _, k := range []int{0, 10, 1000, 10_000} {
		b.Run(fmt.Sprint(k), func(b *testing.B) {
			for range b.N {
				nodes := start(b, 5)
				many(b, nodes[:1], "b", k, barrier.Config{Max: 1}, false)
				began := time.Now()
				if err := nodes[4].Leave(within(b)); err != nil {
					b.Error(err)
				}
				b.ReportMetric(time.Since(began).Seconds(), "s")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
