package workflow

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// limitWorld has attempts of some runs take limits, as a placer without slots of its own does: what was called begins later, in any order.
type limitWorld struct {
	t       *testing.T
	ls      limits
	m       member
	runs    []*hosted
	bad     map[int]bool // tasks whose function nobody offers
	calls   []called     // look for a slot
	running []called
	looked  int
}

func (w *limitWorld) valid(h *hosted, v int) bool { w.looked++; return h.wants(v) }

func (w *limitWorld) offered(_ *hosted, v int) bool { return !w.bad[v] }

// settle has next call all that it may, and checks that nothing is left that could begin.
func (w *limitWorld) settle() {
	w.t.Helper()
	for {
		h, v, ok := w.ls.next(w.valid, w.offered)
		if !ok {
			break
		}
		w.calls = append(w.calls, called{h, v})
	}
	for name, l := range w.ls.all {
		if c := l.called; c != nil && c.run.wants(c.task) && w.offered(c.run, c.task) {
			continue
		}
		if len(l.lines) == 0 {
			continue
		}
		first := l.lines[0]
		for _, v := range first.tasks {
			if by, _ := first.run.limitOf(int(v)); first.run.wants(int(v)) {
				if l.running < by.Most {
					w.t.Fatalf("an attempt waits for %s, of which %d run", name, l.running)
				}
				break
			}
		}
	}
}

func (w *limitWorld) want(h *hosted, v int) {
	if h.gone || h.wants(v) || slices.Contains(w.running, called{h, v}) {
		return
	}
	h.want[v] = true
	by, _ := h.limitOf(v)
	if w.ls.waits(by) {
		w.ls.add(h, v, by)
	} else {
		w.calls = append(w.calls, called{h, v})
	}
}

// place takes an attempt that looks for a slot.
func (w *limitWorld) place(i int) {
	k := w.calls[i]
	w.calls = slices.Delete(w.calls, i, i+1)
	if !k.run.wants(k.task) {
		return
	}
	by, _ := k.run.limitOf(k.task)
	if !w.ls.begins(by) {
		w.ls.add(k.run, k.task, by)
		return
	}
	w.ls.left(k.run, k.task, by)
	k.run.want[k.task] = false
	w.ls.count(&w.m, w.id(k), by)
	w.running = append(w.running, k)
	if l := w.ls.all[by.Name]; l.running > by.Most {
		w.t.Fatalf("%d of %s run", l.running, by.Name)
	}
}

func (w *limitWorld) id(k called) AttemptID {
	return AttemptID{UID{1, 1, uint64(slices.Index(w.runs, k.run))}, k.task, Attempt{1, 1}}
}

func newLimitWorld(t *testing.T, runs int, graph string) *limitWorld {
	w := &limitWorld{t: t, bad: map[int]bool{}}
	for range runs {
		k := simple(t, graph)
		e, err := Check(k.Graph)
		if err != nil {
			t.Fatal(err)
		}
		w.runs = append(w.runs, &hosted{run: NewRun(RunConfig{}, e, nil), want: make([]bool, len(k.Graph.Tasks))})
	}
	return w
}

// An attempt that could begin is called, no more run than may, and nothing is left at the end, in whatever order things happen.
func TestLimitsAtRandom(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := newLimitWorld(t, 4, "a l:1; b l:2; c l:1; d m:1; e m:2; f m:3")
		for range 400 {
			h := w.runs[r.IntN(len(w.runs))]
			v := r.IntN(6)
			switch r.IntN(8) {
			case 0, 1, 2:
				w.want(h, v)
			case 3, 4:
				if len(w.calls) > 0 {
					if i := r.IntN(len(w.calls)); w.offered(w.calls[i].run, w.calls[i].task) {
						w.place(i)
					}
				}
			case 5:
				if len(w.running) > 0 {
					i := r.IntN(len(w.running))
					w.ls.uncount(&w.m, w.id(w.running[i]))
					w.running = slices.Delete(w.running, i, i+1)
				}
			case 6:
				if h.wants(v) { // it is canceled
					h.want[v] = false
					by, _ := h.limitOf(v)
					w.ls.left(h, v, by)
				}
			case 7:
				switch r.IntN(10) {
				case 0: // the run ends, and another begins
					i := slices.Index(w.runs, h)
					w.running = slices.DeleteFunc(w.running, func(k called) bool {
						if k.run == h {
							w.ls.uncount(&w.m, w.id(k))
						}
						return k.run == h
					})
					h.gone = true
					w.ls.drop(h)
					w.runs[i] = newLimitWorld(t, 1, "a l:1; b l:2; c l:1; d m:1; e m:2; f m:3").runs[0]
				case 1:
					w.bad[v] = !w.bad[v]
					w.ls.changeAll()
				}
			}
			w.settle()
		}
		w.bad = map[int]bool{}
		w.ls.changeAll()
		for w.settle(); len(w.calls)+len(w.running) > 0; w.settle() {
			if len(w.calls) > 0 {
				w.place(0)
			}
			if len(w.running) > 0 {
				w.ls.uncount(&w.m, w.id(w.running[0]))
				w.running = w.running[1:]
			}
		}
		for _, h := range w.runs {
			for v := range h.want {
				if h.wants(v) {
					t.Fatalf("seed %d: an attempt waits for ever", seed)
				}
			}
			if len(h.limits) > 0 {
				t.Fatalf("seed %d: a run keeps %d limits", seed, len(h.limits))
			}
		}
		if len(w.ls.all)+len(w.ls.changed) > 0 {
			t.Fatalf("seed %d: %d limits are left", seed, len(w.ls.all))
		}
	}
}

// As an attempt ends, only those are looked at that wait for its limit, however many limits there are.
func TestALimitIsLookedAtAlone(t *testing.T) {
	const n = 1000
	graph := ""
	for i := range n {
		graph += fmt.Sprintf("a%d l%d:1; b%d l%d:1; ", i, i, i, i)
	}
	w := newLimitWorld(t, 1, graph[:len(graph)-2])
	for v := range 2 * n {
		w.want(w.runs[0], v)
	}
	for len(w.calls) > 0 {
		w.place(0)
	}
	w.settle()
	if len(w.running) != n {
		t.Fatalf("%d run", len(w.running))
	}
	w.looked = 0
	for range 10 {
		w.ls.uncount(&w.m, w.id(w.running[0]))
		w.running = w.running[1:]
		for range 3 {
			if h, v, ok := w.ls.next(w.valid, w.offered); ok {
				w.calls = append(w.calls, called{h, v})
			}
		}
	}
	if len(w.calls) != 10 || w.looked > 100 {
		t.Errorf("%d are called after %d looks", len(w.calls), w.looked)
	}
}
