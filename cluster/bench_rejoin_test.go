package cluster_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/phalanx-go/phalanx"
)

// BenchmarkRejoin removes one of seven nodes, which joins again, where there are
// that many small objects, or as many that were deleted:
//
//	ns/op        until every shard has its owner and its backup again
//	longest-ms   the longest of the Puts that another node makes meanwhile, one
//	             after the other
func BenchmarkRejoin(b *testing.B) {
	for _, c := range []struct {
		name    string
		many    int
		deleted bool
	}{{"empty", 0, false}, {"deleted=20000", 20_000, true}, {"deleted=60000", 60_000, true}, {"objects=60000", 60_000, false}} {
		b.Run(c.name, func(b *testing.B) {
			nodes := start(b, 7)
			ctx, cancel := context.WithTimeout(b.Context(), 5*time.Minute)
			defer cancel()
			var group errgroup.Group
			group.SetLimit(200)
			for i := range c.many {
				group.Go(func() error {
					id := phalanx.ObjectID(fmt.Sprint("many/", i))
					n := nodes[i%len(nodes)]
					if _, err := n.Put(ctx, id, []byte("x")); err != nil {
						return err
					}
					if !c.deleted {
						return nil
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
