package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// action is one thing that the run does to the cluster, at a time drawn before the run. It draws
// its details from its own seed, so that a run without it changes little else.
type action struct {
	number int
	at     time.Duration // after the workload began
	seed   uint64
	do     func(*rand.Rand) string // describes its effect
}

// plan draws the schedule: joins, calls and faults, in the order of time.
func (w *world) plan() []action {
	var all []action
	span := w.shape.length
	if w.alone {
		span = w.shape.over
	}
	add := func(k int, do func(*rand.Rand) string) {
		for range k {
			all = append(all, action{at: drawn(w.fate, span), seed: w.fate.Uint64(), do: do})
		}
	}
	changes := func(do func(*rand.Rand) string) func(*rand.Rand) string {
		if w.alone {
			return w.gated(do)
		}
		return do
	}
	add(w.shape.joins, changes(w.joins))
	add(w.shape.calls, w.someCall)
	add(w.shape.troubles, w.someFault)
	add(w.shape.panics, w.panics)
	add(w.shape.presses, w.pressed)
	add(w.shape.pairs, w.pairDies)
	add(w.shape.accusers, w.accused)
	for i := range w.shape.rings {
		add(1, func(r *rand.Rand) string { return w.allReduce(r, i) })
	}
	if r := rand.New(rand.NewPCG(w.seed, 0x1f83d9abfb41bd6b)); len(w.services) > 0 && w.shape.faults != faultless {
		for range r.IntN(3) {
			all = append(all, action{at: drawn(r, span), seed: r.Uint64(), do: w.gated(w.panicsService)})
		}
	}
	r, leaves := newLeaves(w.seed, w.shape)
	if w.alone {
		leaves = r.IntN(2)
	}
	for range leaves {
		all = append(all, action{at: drawn(r, span), seed: r.Uint64(), do: changes(w.leaves)})
	}
	if r := rand.New(rand.NewPCG(w.seed, 0x2545f4914f6cdd1d)); !w.alone && r.IntN(corrupting) == 0 {
		for range 1 + r.IntN(3) {
			all = append(all, action{at: drawn(r, span), seed: r.Uint64(), do: w.corrupts})
		}
	}
	if r := rand.New(rand.NewPCG(w.seed, 0x510e527fade682d1)); !w.alone && r.IntN(cramming) == 0 {
		for range 1 + r.IntN(2) {
			all = append(all, action{at: drawn(r, span), seed: r.Uint64(), do: w.crams})
		}
	}
	for range w.shape.late {
		all = append(all, action{at: span + 3*time.Second + drawn(r, w.shape.length/2), seed: r.Uint64(), do: w.someFault})
	}
	for _, s := range w.services {
		s.service.Plan(w.shape.over, func(at time.Duration, do func() string) {
			all = append(all, action{at: at, do: func(*rand.Rand) string { return do() }})
		})
	}
	slices.SortStableFunc(all, func(a, b action) int { return int(a.at - b.at) })
	for i := range all {
		all[i].number = i
	}
	return all
}

// joins has a node join.
func (w *world) joins(*rand.Rand) string {
	w.met["join"]++
	n := w.newHost().begin(nil, nil)
	w.step(n, "joins")
	return "join of " + string(n.id)
}

// someGiveUp draws after how long a node gives up a command to the view that does not become
// visible. In a real node that is ten seconds, and no fault of a run lasts so long. It leaves the
// other random streams alone.
func someGiveUp(seed uint64) time.Duration {
	r := rand.New(rand.NewPCG(seed, 0x8ebc6af09c88c6e3))
	if r.IntN(4) > 0 {
		return 0
	}
	return 50*time.Millisecond + drawn(r, 500*time.Millisecond)
}

// schedule plans the actions, or only the wanted ones.
func (w *world) schedule(all []action, only []int) {
	for _, a := range all {
		if only != nil && !slices.Contains(only, a.number) {
			continue
		}
		w.planned++
		w.after(a.at, func() {
			w.planned--
			r := rand.New(rand.NewPCG(w.seed, a.seed))
			began := w.now
			w.doing = &line{a.number, began, "?"}
			w.script = append(w.script, w.doing)
			what := a.do(r)
			w.doing.what = what
			w.trace.say(began, "", "action %d: %s", a.number, what)
		})
	}
}

// line is an action that was done.
type line struct {
	number int
	at     time.Duration
	what   string
}

func (l line) String() string {
	return fmt.Sprintf("%4d  %9.3fms  %s", l.number, float64(l.at)/1e6, l.what)
}
