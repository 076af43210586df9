package group_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/group"
)

// BenchmarkMany has groups of three formed at once on three nodes of one process, and
// measures an Agree of one group alone and beside the others.
//
//	ms/forms    until the last of them is formed; goal: 1000 for 1,000
//	us/alone    an Agree with no other group, the median
//	us/beside   and beside them
//	ratio       of the two; goal: 2 beside 10,000
func BenchmarkMany(b *testing.B) {
	for _, k := range []int{10, 100, 1000, 10_000} {
		b.Run(fmt.Sprintf("groups=%d", k), func(b *testing.B) {
			for range b.N {
				nodes := start(b, 3)
				one := form(b, "one", nodes)
				alone := agreeMedian(b, one)
				took := formMany(b, nodes, k)
				beside := agreeMedian(b, one)
				forms, ratio := "ms/forms", "ratio"
				switch k {
				case 1000:
					forms = "ms/forms(goal:1000)"
				case 10_000:
					ratio = "ratio(goal:2)"
				}
				b.ReportMetric(took.Seconds()*1e3, forms)
				b.ReportMetric(float64(alone.Microseconds()), "us/alone")
				b.ReportMetric(float64(beside.Microseconds()), "us/beside")
				b.ReportMetric(beside.Seconds()/alone.Seconds(), ratio)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// formMany forms k groups at once, and returns how long that took.
func formMany(b *testing.B, nodes []*cluster.Node, k int) time.Duration {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var all sync.WaitGroup
	began := time.Now()
	for i := range k {
		for _, n := range nodes {
			all.Go(func() {
				if _, err := group.Form(ctx, n, fmt.Sprint("many/", i), on(nodes)); err != nil {
					b.Error(err)
				}
			})
		}
	}
	all.Wait()
	return time.Since(began)
}

// agreeMedian returns how long an Agree of a group takes.
func agreeMedian(b *testing.B, members []*group.Group) time.Duration {
	b.Helper()
	ctx := within(b)
	var took []time.Duration
	for range 200 {
		began := time.Now()
		each(b, members, func(_ int, g *group.Group) (group.Agreement, error) { return g.Agree(ctx, 1, group.And) })
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[len(took)/2]
}
