package group_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/group"
)

// BenchmarkManyLeft has 10,000 groups of three formed and left on three nodes of one process,
// a thousand at once, and measures the heap after the last member has left.
//
//	heap+%(goal:10)   how much more is in use than before, once it is not more than 10 %, or after 15 s
//	s(goal:15)        after how long that was
//	ms/group          for each group, from its Form until all have left
func BenchmarkManyLeft(b *testing.B) {
	for range b.N {
		nodes := start(b, 3)
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		left := func(k int, name string) {
			for part := range k / 1000 {
				groups := make([]*group.Group, 3000)
				each(b, groups, func(i int, _ *group.Group) (struct{}, error) {
					g, err := group.Form(ctx, nodes[i%3], fmt.Sprint(name, part, "/", i/3), on(nodes))
					if err == nil {
						groups[i] = g
					}
					return struct{}{}, err
				})
				for _, g := range groups {
					if err := g.Close(); err != nil {
						b.Fatal(err)
					}
				}
			}
		}
		left(1000, "warm")
		before := heapAfter(b, 5*time.Second, 0)
		began := time.Now()
		left(10_000, "g")
		cancel()
		took, last := time.Since(began), time.Now()
		after := heapAfter(b, 15*time.Second, before+before/10)
		b.ReportMetric(100*(float64(after)/float64(before)-1), "heap+%(goal:10)")
		b.ReportMetric(time.Since(last).Seconds(), "s(goal:15)")
		b.ReportMetric(took.Seconds()*1e3/10_000, "ms/group")
	}
	b.ReportMetric(0, "ns/op")
}

// heapAfter returns how many bytes of the heap are in use once they are at most so many, or
// after a while.
func heapAfter(b *testing.B, while time.Duration, enough uint64) uint64 {
	b.Helper()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(while); ; <-tick.C {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if m.HeapAlloc <= enough || time.Now().After(end) {
			return m.HeapAlloc
		}
	}
}
