package memory_test

import (
	"fmt"
	"testing"

	"github.com/phalanx-go/phalanx/protocol/memory"
)

// BenchmarkPass has a request pass others that wait, and give its bytes back.
func BenchmarkPass(b *testing.B) {
	for _, n := range []int{10, 1000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			q := waiting(n)
			b.ReportAllocs()
			for b.Loop() {
				q.Step(0, memory.Ask{ID: 1 << 30, Bytes: 10})
				q.Step(0, memory.Freed{Bytes: 10})
			}
		})
	}
}

// BenchmarkWait has a request wait behind others, and go away.
func BenchmarkWait(b *testing.B) {
	for _, n := range []int{10, 1000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			q := waiting(n)
			for b.Loop() {
				q.Step(0, memory.Ask{ID: 1 << 30, Bytes: 70})
				q.Step(0, memory.Gone{ID: 1 << 30})
			}
		})
	}
}

// BenchmarkMeet has a request that was passed by others met out of their midst.
func BenchmarkMeet(b *testing.B) {
	for _, n := range []int{10, 1000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			q := waiting(n)
			for b.Loop() {
				q.Step(0, memory.Ask{ID: 1 << 30, Bytes: 50})
				q.Step(0, memory.Freed{Bytes: 10})
				q.Step(0, memory.Freed{Bytes: 50})
				q.Step(0, memory.Taken{Bytes: 10})
			}
		})
	}
}

// waiting returns a queue where n requests wait.
func waiting(n int) *memory.Queue {
	q := memory.New(memory.Config{Cap: 100})
	q.Step(0, memory.Ask{ID: 1, Bytes: 60})
	for i := range n {
		q.Step(0, memory.Ask{ID: uint64(i) + 2, Bytes: 80})
	}
	return q
}
