package leader_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/phalanx-go/phalanx/leader"
)

// BenchmarkMemory has a thousand leaders follow each other in one election, and in one
// election each, on three nodes of one process:
//
//	B/leader how much the heap has grown for each, at once after the last
func BenchmarkMemory(b *testing.B) {
	for _, c := range []struct {
		name string
		of   func(i int) string
	}{{"one", func(int) string { return "e" }}, {"each", func(i int) string { return fmt.Sprint("e", i) }}} {
		b.Run(c.name, func(b *testing.B) {
			nodes := start(b, 3)
			heap := func() float64 {
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				return float64(m.HeapAlloc)
			}
			turn := func(name string, i int) {
				e, err := leader.Open(nodes[i%3], name)
				if err != nil {
					b.Fatal(err)
				}
				if err := elected(b, e, "x").Resign(within(b)); err != nil {
					b.Fatal(err)
				}
			}
			for i := range 10 {
				turn("before", i)
			}
			before := heap()
			for i := range 1000 {
				turn(c.of(i), i)
			}
			b.ReportMetric((heap()-before)/1000, "B/leader")
			b.ReportMetric(0, "ns/op")
		})
	}
}
