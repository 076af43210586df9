package keeper_test

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	node "github.com/phalanx-go/phalanx/node/ledger"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// BenchmarkAppend appends 4 KB, on one machine: its disks share a device.
func BenchmarkAppend(b *testing.B) {
	for _, disks := range []int{1, 3} {
		for _, appenders := range []int{1, 64} {
			b.Run(fmt.Sprintf("%d disks, %d appenders", disks, appenders), func(b *testing.B) { benchmarkAppend(b, disks, appenders) })
		}
	}
}

func benchmarkAppend(b *testing.B, disks, appenders int) {
	all := &bed{t: b}
	if disks == 1 {
		all.start("n1", "h", b.TempDir())
	} else {
		all = three(b, node.Config{})
	}
	_, tenure := all.leader()
	value := bytes.Repeat([]byte("x"), 4<<10)
	var next atomic.Int64
	var mu sync.Mutex
	var took []time.Duration
	var running sync.WaitGroup
	b.ResetTimer()
	for range appenders {
		running.Go(func() {
			var own []time.Duration
			done := make(chan error, 1)
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				began := time.Now()
				tenure.Append([]ledger.Row{{Key: fmt.Sprint("row/", n%1000), Value: value}}, func(err error) { done <- err })
				if err := await(done); err != nil {
					b.Error(err)
					return
				}
				own = append(own, time.Since(began))
			}
			mu.Lock()
			took = append(took, own...)
			mu.Unlock()
		})
	}
	running.Wait()
	b.StopTimer()
	slices.Sort(took)
	if len(took) > 0 {
		b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
	}
}
