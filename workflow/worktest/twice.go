package worktest

import (
	"bytes"
	"reflect"

	"github.com/phalanx-go/phalanx/workflow"
)

// Twice tests that a task is idempotent: a repeat under the same key, later and at the same time, has no second
// effect and returns what the first did. It takes effect under two keys that begin with "worktest".
func Twice(t T, step workflow.AnyStep, effects Effects) {
	t.Helper()
	later := trial("worktest-later")
	first, err := later.Do(t.Context(), step, try(1))
	if err != nil {
		t.Fatalf("%s fails: %v", first.Task, err)
		return
	}
	once := effects(first.Key)
	second, err := later.Do(t.Context(), step, try(2))
	switch {
	case err != nil:
		t.Errorf("the repeat of %s fails: %v", first.Task, err)
	case !bytes.Equal(output(first), output(second)):
		t.Errorf("the repeat of %s returns %.200q; the first returned %.200q", first.Task, second.Output, first.Output)
	}
	if now := effects(first.Key); !reflect.DeepEqual(now, once) {
		t.Errorf("the repeat of %s has a second effect: %v; the first had %v", first.Task, now, once)
	}
	atOnce(t, step, effects, once)
}

// atOnce runs two attempts at the same time; together they have the effect once.
func atOnce(t T, step workflow.AnyStep, effects Effects, once any) {
	t.Helper()
	type made struct {
		of  workflow.Recording
		err error
	}
	together := trial("worktest-together")
	results := make(chan made, 2)
	for n := range uint64(2) {
		go func() {
			of, err := together.Do(t.Context(), step, try(n+1))
			results <- made{of, err}
		}()
	}
	a, b := <-results, <-results
	switch {
	case a.err != nil || b.err != nil:
		t.Errorf("of two attempts of %s at the same time one fails: %v, %v", a.of.Task, a.err, b.err)
	case !bytes.Equal(output(a.of), output(b.of)):
		t.Errorf("two attempts of %s at the same time return %.200q and %.200q", a.of.Task, a.of.Output, b.of.Output)
	}
	if now := effects(a.of.Key); !reflect.DeepEqual(now, once) {
		t.Errorf("two attempts of %s at the same time have the effect %v; one has %v", a.of.Task, now, once)
	}
}
