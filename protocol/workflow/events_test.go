package workflow

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// spends returns the tasks without checkpoint that v waits for to be spent.
func (e *Events) spends(v int) (all []int) {
	e.follow(v, func(n node) {
		if n.kind() == settled && !e.saves(n.task()) {
			all = append(all, n.task())
		}
	})
	return all
}

// After any ends, saves and drops, a task may begin if and only if its parents have ended and its
// waits are saved; and Ready has told of each task that may.
func TestMayBegin(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		g := randomGraph(r, 1+r.IntN(12))
		for v := range g.Tasks {
			if r.IntN(5) == 0 && g.Tasks[v].Checkpoint == Async {
				g.Tasks[v].Checkpoint = Sync
			}
		}
		e, err := Check(g)
		if err != nil {
			continue
		}
		n := len(g.Tasks)
		waits, spends := make([][]int, n), make([][]int, n)
		for v := range n {
			waits[v], spends[v] = e.Waits(v), e.spends(v)
		}
		ended, isSaved, told := make([]bool, n), make([]bool, n), map[int]bool{}
		for range 50 {
			for _, v := range e.Ready() {
				told[v] = true
			}
			for v := range n {
				want := !slices.ContainsFunc(e.shape.parents(v), func(p int32) bool { return !ended[p] || g.Tasks[p].Checkpoint == Sync && !isSaved[p] }) &&
					!slices.ContainsFunc(waits[v], func(w int) bool { return !isSaved[w] }) &&
					!slices.ContainsFunc(spends[v], func(u int) bool { return !ended[u] })
				if e.May(v) != want {
					t.Fatalf("seed %d: task %d may begin: %v, want %v", seed, v, !want, want)
				}
				if want && !told[v] {
					t.Fatalf("seed %d: nobody was told that task %d may begin", seed, v)
				}
				if !want {
					delete(told, v)
				}
			}
			switch v := r.IntN(n); {
			case r.IntN(6) == 0:
				e.Dropped(v)
				ended[v], isSaved[v] = false, false
			case ended[v] && e.saves(v):
				e.Saved(v)
				isSaved[v] = true
			default:
				e.Ended(v)
				ended[v] = true
			}
		}
	}
}

// A task is settled once no later loss drops its output.
func TestSettledIsSaved(t *testing.T) {
	g := parse(t, "u nd,off; u2 nd,off; b < u; x! < b; w < u u2; z < u2")
	e, err := Check(g)
	if err != nil {
		t.Fatal(err)
	}
	for v := range 3 {
		e.Ended(v)
	}
	e.Saved(2)
	e.Ended(4)
	e.Saved(4)
	if e.Settled(0) || e.May(3) {
		t.Error("u is settled, although w is dropped if u2 is lost while z needs it")
	}
	e.Ended(5)
	if e.Saved(5); !e.Settled(0) || !e.Settled(1) || !e.May(3) {
		t.Error("u is not settled")
	}
}

// A check takes time and memory that grow with the graph, not with its ancestors.
func BenchmarkCheck(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		g := &Graph{}
		for v := range n { // chains of ten that read a draw, each with a commit
			t := Task{Deterministic: v%10 != 0, Effect: None}
			if v%10 == 9 {
				t.Effect = Idempotent
			}
			if v > 0 {
				t.Reads = []int{v - 1}
			}
			g.Tasks = append(g.Tasks, t)
		}
		b.Run(fmt.Sprintf("%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Check(g); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/task")
		})
	}
}
