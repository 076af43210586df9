package group_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/group"
)

// BenchmarkManyLeft has 10,000 groups of three formed on three nodes of one process, and ended,
// and measures the heap after the last member has left: left by the thousand, all left in the end,
// and groups that one of the three never forms, so that the callers give up.
//
//	heap+%(goal:10)   how much more is in use than before, once it is not more than 10 %, or after 15 s
//	s(goal:15)        after how long that was
//	ms/group          for each group, from its Form until all have left
func BenchmarkManyLeft(b *testing.B) {
	b.Run("thousands", func(b *testing.B) { manyLeft(b, 1000, leave) })
	b.Run("all", func(b *testing.B) { manyLeft(b, 10_000, leave) })
	b.Run("given-up", func(b *testing.B) { manyLeft(b, 1000, giveUp) })
}

// leave has members on nodes form groups, a thousand at a time, and leave them all.
func leave(b *testing.B, nodes []*cluster.Node, names []string) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var groups []*group.Group
	for part := range slices.Chunk(names, 1000) {
		groups = append(groups, each(b, make([]*group.Group, 3*len(part)), func(i int, _ *group.Group) (*group.Group, error) {
			return group.Form(ctx, nodes[i%3], part[i/3], on(nodes))
		})...)
	}
	for _, g := range groups {
		if err := g.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// giveUp has two of three members form groups until they give up.
func giveUp(b *testing.B, nodes []*cluster.Node, names []string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(len(names))*time.Millisecond)
	defer cancel()
	outcomes(make([]*group.Group, 2*len(names)), func(i int, _ *group.Group) (*group.Group, error) {
		return group.Form(ctx, nodes[i%2], names[i/2], on(nodes))
	})
}

func manyLeft(b *testing.B, atOnce int, end func(*testing.B, []*cluster.Node, []string)) {
	for range b.N {
		nodes := start(b, 3)
		run := func(k int, name string) {
			var names []string
			for i := range k {
				if names = append(names, fmt.Sprint(name, i)); len(names) == min(k, atOnce) {
					end(b, nodes, names)
					names = nil
				}
			}
		}
		run(1000, "warm")
		before := heapAfter(b, 5*time.Second, 0)
		began := time.Now()
		run(10_000, "g")
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
