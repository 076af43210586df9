package soak

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/workflow"
)

// medley is a workflow of steps that no other program here has: a Reduce of large arrays, which tasks with a limit make, actors, a sleep,
// and a signal, with which it ends.
type medley struct {
	Arrays int
	Seed   int64
	Tally  tally
}

const (
	mostArrays   = 6
	arrayLength  = 12_000 // of int64: more than what goes with records
	medleyLimit  = 3      // arrays that are made at once, in the cluster
	medleySignal = "go"
)

func newMedley(rng *rand.Rand) *medley {
	return &medley{1 + rng.IntN(mostArrays), rng.Int64N(1 << 30), newTally(rng)}
}

// element is what each element of an array is.
func (m medley) element(i int) int64 { return m.Seed*int64(i+1) + int64(i) }

// sum is the result.
func (m medley) sum() (sum int64) {
	for i := range m.Arrays {
		sum += m.element(i)
	}
	return sum + m.Tally.sum()
}

var (
	arrayTask = workflow.Func1("array", 1, func(_ workflow.Context, element int64) ([]int64, error) {
		return slices.Repeat([]int64{element}, arrayLength), nil
	}).With(workflow.Deterministic, workflow.NoEffect, workflow.Limit("soak", medleyLimit))
	sumTask = workflow.Func3("sum", 1, func(_ workflow.Context, all []int64, signal string, counted int64) (int64, error) {
		if len(all) != arrayLength || signal != medleySignal {
			return 0, workflow.Permanent(fmt.Errorf("%d elements, and the signal %q", len(all), signal))
		}
		for i, v := range all {
			if v != all[0] {
				return 0, workflow.Permanent(fmt.Errorf("element %d is %d, and the first %d", i, v, all[0]))
			}
		}
		return all[0] + counted, nil
	}).With(workflow.NoEffect)
)

func (m medley) workflow() workflow.Step[int64] {
	var in []workflow.Arg[[]int64]
	for i := range m.Arrays {
		in = append(in, arrayTask.Bind(workflow.Value(m.element(i))))
	}
	all := workflow.Reduce(phalanx.Sum, 0, in...)
	return sumTask.Bind(workflow.After(all, workflow.Sleep(30*time.Millisecond)), workflow.Event[string](medleySignal), m.Tally.workflow())
}

// play starts one medley after the other until ctx ends, and checks their results.
func (w *workflows) play(ctx context.Context, rng *rand.Rand) {
	for ctx.Err() == nil && !w.broken() {
		p := program{ID: w.newID("medley"), Medley: newMedley(rng)}
		_, result, ok := w.follow(rng, "medley", p)
		if !ok {
			return
		}
		var sum int64
		if err := json.Unmarshal(result, &sum); err != nil || sum != p.Medley.sum() {
			w.fail(fmt.Errorf("%s has made %s, and its elements are %d", p.ID, result, p.Medley.sum()))
			return
		}
	}
}

// signalled reports whether the run of a signal that failed has ended, so that an earlier one has come.
func (w *workflows) signalled(rng *rand.Rand, p program, k phalanx.Kind) bool {
	if k != phalanx.ErrClosed {
		return false
	}
	l, answered := w.call(rng, "look", p)
	return answered && l.Kind == 0 && l.Run != nil && l.Run.Status != nil && l.Run.Status.State == workflow.Finished
}
