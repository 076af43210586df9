package workflow

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
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

// BenchmarkLargeRun measures a run of 100,000 tasks, in chains of ten, on two nodes: how many tasks end a second, the memory of
// both nodes meanwhile, and how long runs of one task take beside it, from its Start on.
func BenchmarkLargeRun(b *testing.B) {
	const tasks, chain = 100_000, 10
	step := func(_ Context, n int) (int, error) { return n + 1, nil }
	pure := Func1("pure", 1, step).With(NoEffect)
	sum := Func1("sum", 1, func(_ Context, all []int) (n int, _ error) {
		for _, k := range all {
			n += k
		}
		return n, nil
	}).With(NoEffect)
	bed := &bedOf{t: b}
	leader := bed.join("a", Settings{Dir: b.TempDir(), Tasks: Tasks(pure, sum)})
	client := bed.join("b", Settings{Tasks: Tasks(pure, sum)})
	for i := 0; b.Loop(); i++ {
		var all []Arg[int]
		for range tasks / chain {
			s := pure.Bind(Value(0))
			for range chain - 1 {
				s = pure.Bind(s)
			}
			all = append(all, s)
		}
		began, over := time.Now(), make(chan struct{})
		var slowest, heap atomic.Int64
		var beside sync.WaitGroup
		beside.Go(func() {
			for k := 0; ; k++ {
				select {
				case <-over:
					return
				default:
				}
				at := time.Now()
				r, err := Start(b.Context(), leader, fmt.Sprint("small/", i, "/", k), pure.Bind(Value(0)))
				if err != nil {
					b.Error(err)
					return
				}
				started := time.Since(at)
				await(b, r, 1)
				if testing.Verbose() && time.Since(at) > time.Second {
					b.Logf("%v after the beginning: a run of one task took %v to start, and %v in all", at.Sub(began), started, time.Since(at))
				}
				slowest.Store(max(slowest.Load(), int64(time.Since(at))))
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				heap.Store(max(heap.Load(), int64(m.HeapAlloc)))
			}
		})
		r, err := Start(b.Context(), client, fmt.Sprint("large/", i), sum.Bind(All(all...)))
		if err != nil {
			b.Fatal(err)
		}
		started := time.Since(began)
		await(b, r, tasks)
		took := time.Since(began)
		close(over)
		beside.Wait()
		b.ReportMetric(started.Seconds(), "s-to-start")
		b.ReportMetric(tasks/took.Seconds(), "tasks/s")
		b.ReportMetric(float64(heap.Load())/(1<<20), "MB-heap")
		b.ReportMetric(time.Duration(slowest.Load()).Seconds()*1000, "ms-small-run-most")
	}
}

// BenchmarkNamedObjects measures a run whose output names many small objects, all of which a disk writes.
func BenchmarkNamedObjects(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			many := Func1("many", 1, func(c Context, run int) (refs []Ref, err error) {
				for i := range n {
					r, err := c.Put(fmt.Sprint(i), fmt.Appendf(nil, "%d/%d", run, i))
					if err != nil {
						return nil, err
					}
					refs = append(refs, r)
				}
				return refs, nil
			}).With(NoEffect)
			bed := &bedOf{t: b}
			node := bed.join("a", Settings{Dir: b.TempDir(), Tasks: Tasks(many)})
			for i := 0; b.Loop(); i++ {
				r, err := Start(b.Context(), node, fmt.Sprint("run/", i), many.Bind(Value(i)))
				if err != nil {
					b.Fatal(err)
				}
				if got, err := r.Result(b.Context()); err != nil || len(got) != n {
					b.Error(len(got), err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N)/float64(n), "ms/object")
		})
	}
}
