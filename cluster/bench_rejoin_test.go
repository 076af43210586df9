package cluster_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/phalanx-go/phalanx"
)

// BenchmarkRejoin removes one of seven nodes, which joins again, while the
// directory remembers that many objects that were deleted:
//
//	ns/op        until every shard has its owner and its backup again
//	longest-ms   the longest of the Puts that another node makes meanwhile, one
//	             after the other
func BenchmarkRejoin(b *testing.B) {
	for _, tombstones := range []int{0, 20_000, 60_000} {
		b.Run(fmt.Sprint("tombstones=", tombstones), func(b *testing.B) {
			nodes := start(b, 7)
			ctx, cancel := context.WithTimeout(b.Context(), 5*time.Minute)
			defer cancel()
			var group errgroup.Group
			group.SetLimit(200)
			for i := range tombstones {
				group.Go(func() error {
					id := phalanx.ObjectID(fmt.Sprint("gone/", i))
					n := nodes[i%len(nodes)]
					if _, err := n.Put(ctx, id, []byte("x")); err != nil {
						return err
					}
					return n.Delete(ctx, id)
				})
			}
			if err := group.Wait(); err != nil {
				b.Fatal(err)
			}
			longest, puts := time.Duration(0), 0
			b.ResetTimer()
			for range b.N {
				victim := nodes[3]
				was := victim.ID()
				nodes[0].Oust(was)
				for victim.ID() == was || len(nodes[0].View().Members) < len(nodes) || !nodes[0].Settled(ctx) {
					began := time.Now()
					if _, err := nodes[1].Put(ctx, phalanx.ObjectID(fmt.Sprint("put/", puts)), []byte("x")); err != nil {
						b.Fatal(err)
					}
					longest = max(longest, time.Since(began))
					puts++
				}
			}
			b.StopTimer()
			b.ReportMetric(float64(longest.Milliseconds()), "longest-ms")
			b.ReportMetric(float64(puts)/float64(b.N), "puts")
		})
	}
}
