package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// action is one thing that is done to the cluster, at a time that was drawn
// before the run. Its details are drawn from its own seed, so that leaving one
// out changes as little as can be of the others.
type action struct {
	number int
	at     time.Duration // after the workload began
	seed   uint64
	do     func(*rand.Rand) string // says what it did
}

// plan draws the schedule: joins, calls and faults, in the order of time.
func (w *world) plan() []action {
	var all []action
	add := func(k int, do func(*rand.Rand) string) {
		for range k {
			all = append(all, action{at: drawn(w.fate, w.shape.length), seed: w.fate.Uint64(), do: do})
		}
	}
	add(w.shape.joins, func(*rand.Rand) string {
		w.met["join"]++
		n := w.newHost().begin(nil)
		w.step(n, "joins")
		return "join of " + string(n.id)
	})
	add(w.shape.calls, w.someCall)
	add(w.shape.troubles, w.someFault)
	add(w.shape.panics, w.panics)
	add(w.shape.presses, w.pressed)
	for i := range w.shape.rings {
		add(1, func(r *rand.Rand) string { return w.allReduce(r, i) })
	}
	slices.SortStableFunc(all, func(a, b action) int { return int(a.at - b.at) })
	for i := range all {
		all[i].number = i
	}
	return all
}

// schedule has the planned actions done, or those of them that are wanted.
func (w *world) schedule(all []action, only []int) {
	for _, a := range all {
		if only != nil && !slices.Contains(only, a.number) {
			continue
		}
		w.after(a.at, func() {
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
