package workflow

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
)

// inTask runs f in an attempt on a node.
func inTask(b *testing.B, bed *bedOf, kinds *ActorKinds, f func(c Context) error) {
	b.Helper()
	do := Func0("do", 1, func(c Context) (int, error) { return 1, f(c) }).With(NoEffect)
	bed.join("a", Settings{Dir: b.TempDir(), Tasks: Tasks(do), Actors: kinds, Slots: 1})
	bed.join("b", Settings{Actors: kinds})
	bed.allSee()
	r, err := Start(b.Context(), bed.nodes[0], "x", do.Bind())
	if err == nil {
		_, err = r.Result(b.Context())
	}
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkActorCalls measures calls of an actor on the node of the task and on another one, by one caller and by 64.
func BenchmarkActorCalls(b *testing.B) {
	for _, size := range []int{8, 1 << 20} {
		for _, callers := range []int{1, 64} {
			for _, here := range []bool{true, false} {
				where := map[bool]string{true: "here", false: "there"}[here]
				b.Run(fmt.Sprintf("bytes=%d/callers=%d/%s", size, callers, where), func(b *testing.B) {
					inTask(b, &bedOf{t: b}, Actors(counters), func(c Context) error {
						a, err := spawnOn(c, nodeOf(c), here)
						if err != nil {
							return err
						}
						data := make([]byte, size)
						b.SetBytes(int64(size))
						b.ResetTimer()
						defer b.StopTimer()
						return callMany(c, a, data, callers, b.N)
					})
				})
			}
		}
	}
}

// spawnOn makes an actor on this node, or on another one.
func spawnOn(c Context, node string, here bool) (ActorRef, error) {
	for i := 0; ; i++ {
		a, err := counters.Spawn(c, fmt.Sprint(i), 0)
		if err != nil || (a.form().Node.Name() == node) == here {
			return a, err
		}
	}
}

func callMany(c Context, a ActorRef, data []byte, callers, n int) (err error) {
	var wait sync.WaitGroup
	var once sync.Once
	for i := range callers {
		wait.Go(func() {
			for range (n + callers - 1 - i) / callers {
				if _, failed := echoOf.Call(c, a, data); failed != nil {
					once.Do(func() { err = failed })
					return
				}
			}
		})
	}
	wait.Wait()
	return err
}

// BenchmarkActorsOnNodes has tasks make many actors, whose memory it measures; they end with the runs.
func BenchmarkActorsOnNodes(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000} {
		b.Run(fmt.Sprint("actors=", n), func(b *testing.B) {
			var took int64
			makes := Func0("makes", 1, func(c Context) (int, error) {
				before := heap()
				for i := range n {
					if _, err := counters.Spawn(c, fmt.Sprint(i), 0); err != nil {
						return 0, err
					}
				}
				took = heap() - before
				return n, nil
			}).With(NoEffect)
			bed := &bedOf{t: b}
			bed.join("a", Settings{Dir: b.TempDir(), Tasks: Tasks(makes), Actors: Actors(counters)})
			bed.join("b", Settings{Actors: Actors(counters)})
			bed.allSee()
			b.ResetTimer()
			for i := range b.N {
				r, err := Start(b.Context(), bed.nodes[0], fmt.Sprint("x", i), makes.Bind())
				result(b, r, err)
			}
			b.ReportMetric(float64(took)/float64(n), "B/actor")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/actor")
		})
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
