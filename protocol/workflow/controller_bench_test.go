package workflow

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/phalanx-go/phalanx"
)

// benched is a controller whose members answer at once and whose ledger is durable at once.
type benched struct {
	c       *Controller
	todo    []ControlEvent
	closed  int
	holding bool  // orders are kept, and not run
	rows    []Row // that were written
}

func newBenched(members int) *benched {
	h := &benched{c: NewController(ControllerConfig{Ledger: 1, Epoch: 1}, 0)}
	h.do(Scanned{Last: true})
	v := Members{View: ViewNumber{1, 1}}
	for i := range members {
		v.Nodes = append(v.Nodes, phalanx.NodeID(fmt.Sprintf("n%d", i)))
	}
	h.do(v)
	return h
}

func (h *benched) do(ev ControlEvent) {
	h.todo = append(h.todo, ev)
	for len(h.todo) > 0 {
		ev := h.todo[0]
		h.todo = h.todo[1:]
		for _, e := range h.c.Step(0, ev) {
			switch e := e.(type) {
			case Write:
				if h.holding {
					h.rows = append(h.rows, e.Rows...)
				}
				h.todo = append(h.todo, Durable{e.Number})
			case Read:
				h.todo = append(h.todo, Found{Number: e.Number})
			case Confirm:
				h.todo = append(h.todo, Confirmed(e))
			case Send:
				h.send(e)
			case Publish:
				if _, is := e.News.(RunClosed); is {
					h.closed++
				}
			}
		}
	}
}

func (h *benched) send(e Send) {
	switch m := e.Message.(type) {
	case Ask:
		h.todo = append(h.todo, Heard{e.To, Tell{Epoch: 1, Number: m.Number, Parts: 1, Slots: 8, Functions: []Function{{"f", 1}}}})
	case Order:
		if !h.holding {
			h.todo = append(h.todo, Heard{e.To, Report{Epoch: 1, ID: m.ID, Gen: m.Gen, Kind: m.Kind, Output: Output{Size: 8, Recorded: true, Bytes: []byte("12345678")}}})
		}
	case Release:
		h.todo = append(h.todo, Heard{e.To, Freed{1, m.Serial}})
	}
}

// chains returns a workflow of n tasks in chains of ten.
func chains(n int, effect Effect) *Work {
	g := &Graph{Tasks: make([]Task, n)}
	for v := range g.Tasks {
		g.Tasks[v] = Task{Effect: effect}
		if v%10 > 0 {
			g.Tasks[v].Reads = []int{v - 1}
		}
	}
	return &Work{Graph: g, Functions: []Function{{"f", 1}}, Calls: make([]int32, n)}
}

// The time for a task does not grow with the tasks of its run. An unfinished task takes bytes of the controller, its Run
// and its graph: those of its Check and its Run are most.
func BenchmarkController(b *testing.B) {
	for _, c := range []struct{ runs, tasks int }{{1, 10}, {1, 1_000}, {1, 100_000}, {10_000, 1}, {1_000, 100}} {
		b.Run(fmt.Sprintf("%d runs of %d", c.runs, c.tasks), func(b *testing.B) {
			work := chains(c.tasks, Idempotent)
			work.Digest[0] = 1
			for b.Loop() {
				h := newBenched(10)
				for i := range c.runs {
					h.do(Called{Caller: Caller(i + 1), Call: StartRun{ID: fmt.Sprint(i), Work: work}})
				}
				if h.closed != c.runs {
					b.Fatalf("%d of %d runs have ended", h.closed, c.runs)
				}
			}
			n := c.runs * c.tasks
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/task")
			b.ReportMetric(float64(heldBytes(c.runs, c.tasks))/float64(n), "B/task")
			b.ReportMetric(float64(runBytes(c.runs, c.tasks))/float64(n), "B/task-of-Run")
		})
	}
}

// heldBytes returns what a controller holds while no task has ended, beside the graphs of the clients.
func heldBytes(runs, tasks int) uint64 {
	var works []*Work
	for range runs {
		works = append(works, chains(tasks, Idempotent))
	}
	before := inUse()
	h := newBenched(10)
	h.holding = true
	for i := range runs {
		h.do(Called{Caller: Caller(i + 1), Call: StartRun{ID: fmt.Sprint(i), Work: works[i]}})
	}
	h.todo, h.rows = nil, nil
	after := inUse()
	runtime.KeepAlive(h)
	runtime.KeepAlive(works)
	return after - before
}

// runBytes returns what of that Check and Run hold.
func runBytes(runs, tasks int) uint64 {
	var works []*Work
	for range runs {
		works = append(works, chains(tasks, Idempotent))
	}
	before := inUse()
	var all []*Run
	for i := range runs {
		e, err := Check(works[i].Graph)
		if err != nil {
			panic(err)
		}
		r := NewRun(RunConfig{Epoch: 1}, e, nil)
		for _, e := range r.Step(0, Tick{}) {
			if a, is := e.(Append); is {
				r.Step(0, Durable{a.Number})
			}
		}
		all = append(all, r)
	}
	after := inUse()
	runtime.KeepAlive(all)
	runtime.KeepAlive(works)
	return after - before
}

func inUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A controller that takes over reads what is active, and goes on with it.
func BenchmarkTakeover(b *testing.B) {
	for _, c := range []struct{ runs, tasks int }{{10_000, 1}, {1, 100_000}} {
		b.Run(fmt.Sprintf("%d runs of %d", c.runs, c.tasks), func(b *testing.B) {
			old := newBenched(10)
			old.holding = true
			for i := range c.runs {
				old.do(Called{Caller: Caller(i + 1), Call: StartRun{ID: fmt.Sprint(i), Work: chains(c.tasks, Idempotent)}})
			}
			for b.Loop() {
				h := &benched{c: NewController(ControllerConfig{Ledger: 1, Epoch: 2}, 0)}
				h.do(Scanned{Rows: old.rows, Last: true})
				h.do(Members{View: ViewNumber{1, 2}, Nodes: []phalanx.NodeID{"n0"}})
				if len(h.c.runs) != c.runs || len(h.c.heldRuns) > 0 {
					b.Fatalf("%d runs, of which %d are held", len(h.c.runs), len(h.c.heldRuns))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(c.runs*c.tasks), "ns/task")
		})
	}
}

// gathering returns a workflow of n tasks, and one that needs some of them; 0: all.
func gathering(n int, needs int32) *Work {
	g := &Graph{Tasks: make([]Task, n+1)}
	last := &g.Tasks[n]
	for v := range n {
		g.Tasks[v].Effect = None
		last.Reads = append(last.Reads, v)
	}
	last.Effect, last.Needs = None, needs
	w := &Work{Graph: g, Functions: []Function{{"f", 1}}, Calls: make([]int32, n+1)}
	w.Digest[0] = 1
	return w
}

// The time for an input does not grow with the inputs of a task, whether it begins with the first, the last or all of them.
func BenchmarkNeeds(b *testing.B) {
	for _, n := range []int{10, 1_000, 10_000} {
		for _, needs := range []int{0, 1, n / 2, n - 1} {
			b.Run(fmt.Sprintf("%d of %d", needs, n), func(b *testing.B) {
				for b.Loop() {
					h := newBenched(10)
					h.do(Called{Caller: 1, Call: StartRun{ID: "run", Work: gathering(n, int32(needs))}})
					if h.closed != 1 {
						b.Fatal("the run has not ended")
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/input")
			})
		}
	}
}
