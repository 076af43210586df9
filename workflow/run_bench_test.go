package workflow

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// bench returns a node with a folder and a task of each kind.
func benchRuns(b *testing.B) (start func(id string, n int) Run[int], effectless func(id string, n int) Run[int]) {
	step := func(_ Context, n int) (int, error) { return n + 1, nil }
	write, pure := Func1("write", 1, step).With(Idempotent), Func1("pure", 1, step).With(NoEffect)
	bed := &bedOf{t: b}
	node := bed.join("a", Settings{Dir: b.TempDir(), Tasks: Tasks(write, pure)})
	run := func(f F1[int, int]) func(id string, n int) Run[int] {
		return func(id string, n int) Run[int] {
			s := f.Bind(Value(0))
			for range n - 1 {
				s = f.Bind(s)
			}
			r, err := Start(b.Context(), node, id, s)
			if err != nil {
				b.Fatal(err)
			}
			return r
		}
	}
	return run(write), run(pure)
}

func await(b *testing.B, r Run[int], want int) {
	if got, err := r.Result(b.Context()); err != nil || got != want {
		b.Error(got, err)
	}
}

// BenchmarkRuns measures runs one after the other: p50 from Start to Result.
func BenchmarkRuns(b *testing.B) {
	for _, n := range []int{1, 10} {
		for _, kind := range []string{"effects", "none"} {
			b.Run(fmt.Sprintf("%d/%s", n, kind), func(b *testing.B) {
				start, pure := benchRuns(b)
				if kind == "none" {
					start = pure
				}
				var took []time.Duration
				for i := 0; b.Loop(); i++ {
					began := time.Now()
					await(b, start(fmt.Sprint("run/", i), n), n)
					took = append(took, time.Since(began))
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-p50")
				b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000/float64(n), "ms/task")
			})
		}
	}
}

// BenchmarkRunsAtOnce measures how many runs of one task a second end, of 256 clients.
func BenchmarkRunsAtOnce(b *testing.B) {
	start, _ := benchRuns(b)
	work := make(chan int)
	var wait sync.WaitGroup
	for range 256 {
		wait.Go(func() {
			for i := range work {
				await(b, start(fmt.Sprint("run/", i), 1), 1)
			}
		})
	}
	b.ResetTimer()
	for i := range b.N {
		work <- i
	}
	close(work)
	wait.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
}
