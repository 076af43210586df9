package barrier_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/cluster"
)

// BenchmarkManyLeft has 10,000 barriers entered on three nodes of one process, and measures the
// heap after the last caller has gone on.
//
//	heap+%(goal:10)  how much more is in use than before, once it is not more than 10 %, or after 15 s
//	s(goal:15)       after how long that was
//	counted          what the nodes then count for barriers against their memory caps, in bytes
func BenchmarkManyLeft(b *testing.B) {
	for _, kind := range []struct {
		name string
		cfg  barrier.Config
		by   int // how many nodes it is entered on
		gone bool
	}{
		{"all", barrier.Config{Max: 3}, 3, false},
		{"some", barrier.Config{Max: 3, Percent: 50}, 2, false},
		{"given-up", barrier.Config{Max: 3}, 2, true},
		{"semaphore", barrier.Config{Semaphore: barrier.Semaphore{Count: 3}}, 3, false},
	} {
		b.Run(kind.name, func(b *testing.B) {
			for range b.N {
				nodes := start(b, 3)
				goroutines(30_000)
				many(b, nodes[:kind.by], "warm", 1000, kind.cfg, kind.gone)
				before := heapAfter(b, 20*time.Second, 0)
				many(b, nodes[:kind.by], "b", 10_000, kind.cfg, kind.gone)
				last := time.Now()
				after := heapAfter(b, 15*time.Second, before+before/10)
				b.ReportMetric(100*(float64(after)/float64(before)-1), "heap+%(goal:10)")
				b.ReportMetric(time.Since(last).Seconds(), "s(goal:15)")
				counted := int64(0)
				for _, n := range nodes {
					counted += n.Status().Memory.Services
				}
				b.ReportMetric(float64(counted), "counted")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// goroutines has as many run at once as callers will wait: what Go keeps of them is theirs.
func goroutines(k int) {
	var all sync.WaitGroup
	begin := make(chan struct{})
	for range k {
		all.Go(func() { <-begin })
	}
	close(begin)
	all.Wait()
}

// many has k barriers entered once from each node, and waits until all callers have gone on, or
// have given up.
func many(b *testing.B, nodes []*cluster.Node, name string, k int, cfg barrier.Config, gone bool) {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	if gone {
		ctx, cancel = context.WithTimeout(context.Background(), 2*time.Second)
	}
	defer cancel()
	var all sync.WaitGroup
	for i := range k {
		for _, n := range nodes {
			all.Go(func() {
				x := open(b, n, fmt.Sprint(name, "/", i), cfg)
				if _, err := x.Enter(ctx, barrier.Entry{}); (err != nil) != gone {
					b.Error(err)
				}
				if cfg.Semaphore.Count > 0 {
					if err := x.Release(ctx, barrier.Entry{}); err != nil {
						b.Error(err)
					}
				}
			})
		}
	}
	all.Wait()
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
