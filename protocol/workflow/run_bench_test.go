package workflow

import (
	"fmt"
	"testing"
)

// The work for an event does not grow with the number of tasks: a run of a hundred thousand tasks
// takes as long for each as one of a thousand, also after outputs were lost that nobody needs.
func BenchmarkRun(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		for _, loses := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/loses=%v", n, loses), func(b *testing.B) { benchmarkRun(b, n, loses) })
		}
	}
}

// The same where every tenth task returns a graph of nine; and where each returns a task and one like itself, so that
// they are as deep as they are many.
func BenchmarkExpansions(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		for _, deep := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/deep=%v", n, deep), func(b *testing.B) { benchmarkExpansions(b, n, deep) })
		}
	}
}

func benchmarkExpansions(b *testing.B, n int, deep bool) {
	wide, inner := &Graph{Tasks: make([]Task, max(1, n/10))}, &Graph{Tasks: make([]Task, 9)}
	for v := range wide.Tasks {
		wide.Tasks[v] = Task{Effect: None, Expands: true}
	}
	for v := range inner.Tasks {
		inner.Tasks[v] = Task{Effect: None}
		if v > 0 {
			inner.Tasks[v].Reads = []int{v - 1}
		}
	}
	if deep {
		wide.Tasks = wide.Tasks[:1]
		inner.Tasks = []Task{{Effect: None}, {Effect: None, Expands: true, Reads: []int{0}}}
	}
	b.ReportAllocs()
	for b.Loop() {
		e, err := Check(wide)
		if err != nil {
			b.Fatal(err)
		}
		r := NewRun(RunConfig{Epoch: 1}, e, nil)
		for todo := r.Step(0, Tick{}); len(todo) > 0; todo = todo[1:] {
			switch d := todo[0].(type) {
			case Append:
				todo = append(todo, r.Step(0, Durable{d.Number})...)
			case Dispatch:
				o := Outcome{Task: d.Task, Attempt: d.Attempt, Output: Output{Recorded: true}}
				if r.x.Tasks[d.Task].Expands && len(r.x.Tasks)+len(inner.Tasks) <= n {
					o.Graph = inner
				}
				todo = append(todo, r.Step(0, o)...)
			}
		}
		if !r.Closed() {
			b.Fatal("the run is not closed")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/task")
}

func benchmarkRun(b *testing.B, n int, loses bool) {
	g := &Graph{Tasks: make([]Task, n)}
	for v := range g.Tasks {
		g.Tasks[v] = Task{Deterministic: v%2 == 0, Effect: None}
		if v > 0 && v%10 != 0 {
			g.Tasks[v].Reads = []int{v - 1}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		e, err := Check(g)
		if err != nil {
			b.Fatal(err)
		}
		r := NewRun(RunConfig{Epoch: 1}, e, nil)
		todo := r.Step(0, Tick{})
		for len(todo) > 0 {
			next := todo[0]
			todo = todo[1:]
			switch d := next.(type) {
			case Append:
				todo = append(todo, r.Step(0, Durable{d.Number})...)
			case Dispatch:
				todo = append(todo, r.Step(0, Outcome{Task: d.Task, Attempt: d.Attempt})...)
			case Save:
				todo = append(todo, r.Step(0, Checkpointed{Task: d.Task, Gen: d.Gen, Made: d.Made})...)
				if loses && d.Task < 10 {
					todo = append(todo, r.Step(0, Gone{Task: d.Task, Gen: d.Gen})...)
				}
			}
		}
		if !r.Closed() {
			b.Fatal("the run is not closed")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/task")
}
