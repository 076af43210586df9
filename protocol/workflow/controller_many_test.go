package workflow

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// A controller reads the pages of a minute that is over once, however long the ledger takes to answer about each row.
func TestPagesAreReadOnce(t *testing.T) {
	for _, kind := range []string{"wake/", "until/"} {
		d := newDesk(t, 1, map[string]RowValue{}, "n1")
		d.tells("n1", Tell{})
		d.durable()
		const pages = 3
		for i := range pages*mostListed - 1 {
			id := fmt.Sprintf("r%06d", i)
			key := map[string]string{"wake/": wakeKey(1, id), "until/": untilKey(1, id)}[kind]
			d.rows[key] = Active{}
			d.rows[idKey(id)] = Name{State: Forgotten, Until: 1}
		}
		d.late = func(r Read) bool { return strings.HasPrefix(r.Key, "id/") }
		before := d.reads[kind]
		d.after(minute)
		for range 3 * pages {
			for range 10 { // rows become durable before any is read
				if len(d.queue) > 0 {
					d.durableTo(d.queue[0].Number)
				}
			}
			d.found()
			d.durable()
		}
		if n := d.reads[kind] - before; n != pages {
			t.Errorf("%d pages of %s are read %d times", pages, kind, n)
		}
		for k := range d.rows {
			if strings.HasPrefix(k, kind) {
				t.Fatalf("%s is left", k)
			}
		}
	}
}

// A controller that was late reads what minutes have brought once.
func TestLateMinutesAreReadOnce(t *testing.T) {
	d := newDesk(t, 1, map[string]RowValue{}, "n1")
	before := d.reads["wake/"]
	d.after(time.Hour)
	if n := d.reads["wake/"] - before; d.c.minutes != 60 || n != 1 {
		t.Errorf("the minute is %d, after %d reads", d.c.minutes, n)
	}
}

// A controller looks at one run alone when a member has told of it as it comes back to memory: thousands may wake in one minute.
func TestARunComesBackWithoutALookAtOthers(t *testing.T) {
	d := started(t, "ok event; b < ok")
	d.durable()
	d.call(SignalRun{ID: "r", Name: "ok", Key: "1"})
	other := &hosted{id: "other", held: &held{}} // it has no Run: a look at it panics
	d.c.heldRuns = append(d.c.heldRuns, other)
	d.tells("n1", Tell{})
	d.durable()
	if _, o := d.order(); o.ID.Task != 1 {
		t.Errorf("%+v begins", o)
	}
	if len(d.c.heldRuns) != 1 || d.c.heldRuns[0] != other {
		t.Errorf("%d runs are held", len(d.c.heldRuns))
	}
}

// crowd is a controller of many runs, with a ledger that is durable at once and can be read.
type crowd struct {
	c      *Controller
	now    time.Duration
	todo   []ControlEvent
	rows   map[string]RowValue
	keys   map[string]map[string]bool // of the rows that are read in ranges, by the beginning of the range
	orders []Send                     // that are not reported
}

func newCrowd() *crowd {
	h := &crowd{c: NewController(ControllerConfig{Ledger: 1, Epoch: 1}, 0), rows: map[string]RowValue{}, keys: map[string]map[string]bool{}}
	h.do(Scanned{Last: true})
	h.do(Members{View: ViewNumber{1, 1}, Nodes: []phalanx.NodeID{"n1", "n2", "n3"}})
	return h
}

func rangeOf(key string) string {
	parts := strings.SplitAfter(key, "/")
	if parts[0] == "run/" && len(parts) > 1 {
		return parts[0] + parts[1]
	}
	return parts[0]
}

func (h *crowd) do(ev ControlEvent) {
	h.todo = append(h.todo, ev)
	for len(h.todo) > 0 {
		ev := h.todo[0]
		h.todo = h.todo[1:]
		for _, e := range h.c.Step(h.now, ev) {
			switch e := e.(type) {
			case Write:
				for _, r := range e.Rows {
					h.write(r)
				}
				h.todo = append(h.todo, Durable{e.Number})
			case Read:
				h.todo = append(h.todo, Found{Number: e.Number, Rows: h.read(e)})
			case Confirm:
				h.todo = append(h.todo, Confirmed(e))
			case Send:
				switch m := e.Message.(type) {
				case Ask:
					h.todo = append(h.todo, Heard{e.To, Tell{Epoch: 1, Number: m.Number, Parts: 1, Slots: MaxSlots, Functions: []Function{{"f", 1}}}})
				case Order:
					h.todo = append(h.todo, Heard{e.To, Taken{1, m.ID}})
					h.orders = append(h.orders, e)
				case Release:
					h.todo = append(h.todo, Heard{e.To, Freed{1, m.Serial}})
				}
			}
		}
	}
}

func (h *crowd) write(r Row) {
	of := rangeOf(r.Key)
	switch {
	case r.End != "": // a run's
		for k := range h.keys[of] {
			delete(h.rows, k)
		}
		delete(h.keys, of)
	case r.Value == nil:
		delete(h.rows, r.Key)
		delete(h.keys[of], r.Key)
	default:
		if h.rows[r.Key] = r.Value; h.keys[of] == nil {
			h.keys[of] = map[string]bool{}
		}
		h.keys[of][r.Key] = true
	}
}

func (h *crowd) read(e Read) (rows []Row) {
	keys := []string{e.Key}
	if e.End != "" {
		keys = nil
		for k := range h.keys[rangeOf(e.Key)] {
			if k >= e.Key && k < e.End {
				keys = append(keys, k)
			}
		}
		slices.Sort(keys)
	}
	if e.Limit > 0 {
		keys = keys[:min(len(keys), e.Limit)]
	}
	for _, k := range keys {
		if v, is := h.rows[k]; is {
			rows = append(rows, Row{Key: k, Value: v})
		}
	}
	return rows
}

// run reports what begins, until nothing does.
func (h *crowd) run() {
	for len(h.orders) > 0 {
		s := h.orders[0]
		h.orders = h.orders[1:]
		o := s.Message.(Order)
		h.do(Heard{s.To, Report{Epoch: 1, ID: o.ID, Gen: o.Gen, Kind: o.Kind, Output: small}})
	}
}

// BenchmarkCrowd measures what one of many things costs a controller: of runs that have slept until the same minute, of runs that have a limit
// each, or one for all, and of clients that wait for one run and give up.
func BenchmarkCrowd(b *testing.B) {
	graphs := map[string]func(i int) string{
		"sleepers":  func(int) string { return "e sleep; b < e" },
		"limits":    func(i int) string { return fmt.Sprintf("a l%d:1; b l%d:1", i, i) },
		"one limit": func(int) string { return "a l:10; b l:10" },
		"clients":   func(int) string { return "a" },
	}
	for _, what := range sortedKeys(graphs) {
		for _, n := range []int{1_000, 16_000} {
			b.Run(fmt.Sprintf("%s/%d", what, n), func(b *testing.B) {
				for b.Loop() {
					h := newCrowd()
					for i := range n {
						if what == "clients" && i > 0 {
							h.do(Called{Caller: Caller(i + 1), Call: AwaitResult{ID: "0"}})
							continue
						}
						h.do(Called{Caller: Caller(i + 1), Call: StartRun{ID: fmt.Sprint(i), Work: simple(b, graphs[what](i))}})
					}
					for range 70 {
						h.now += time.Minute
						h.do(Tick{})
						if what != "clients" || len(h.c.calls) == 0 {
							h.run()
						}
					}
					if n := len(h.c.runs) + len(h.c.calls) + len(h.c.limits.all); n > 0 {
						b.Fatalf("%d are left", n)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/each")
			})
		}
	}
}

// Of a workflow with very many tasks a controller begins some in each step, so that other runs go on between.
func TestALargeWorkflowBeginsByAndBy(t *testing.T) {
	for _, effect := range []Effect{None, Idempotent} {
		const n = 3*mostLooks + 1
		g := &Graph{Tasks: make([]Task, n)}
		for v := range g.Tasks {
			g.Tasks[v].Effect = effect
		}
		e, err := Check(g)
		if err != nil {
			t.Fatal(err)
		}
		r := NewRun(RunConfig{Epoch: 1}, e, nil)
		begun, steps, todo := 0, 0, []RunEvent{Tick{}}
		for len(todo) > 0 {
			ev := todo[0]
			todo = todo[1:]
			some := 0
			for _, e := range r.Step(0, ev) {
				switch e := e.(type) {
				case Dispatch:
					begun++
					some++
				case Append:
					some += len(e.Records)
					todo = append(todo, Durable{e.Number})
				}
			}
			if some > 2*mostLooks {
				t.Errorf("%d effects in a step", some)
			}
			if at, ok := r.Due(); ok && at == 0 && len(todo) == 0 {
				todo = append(todo, Tick{})
			}
			if r.idle(1) && begun < n {
				t.Fatalf("it is idle, and %d of %d have begun", begun, n)
			}
			steps++
		}
		if begun != n || steps < 4 {
			t.Errorf("%d of %d tasks have begun in %d steps", begun, n, steps)
		}
	}
}
