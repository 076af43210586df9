package worktest

import (
	"bytes"
	"slices"

	"github.com/phalanx-go/phalanx/workflow"
)

// remakes is how often Remake runs a task: two entries of a map come in the same order each time with a probability of about
// 2^-15.
const remakes = 16

// Remake tests that a task is deterministic: it makes the same bytes of the same inputs each time, of its output and of
// the objects that it puts. It cannot tell whether the task reads what others overwrite.
func Remake(t T, step workflow.AnyStep) {
	t.Helper()
	first, err := trial("worktest").Do(t.Context(), step, try(1))
	if err != nil {
		t.Fatalf("%s fails: %v", first.Task, err)
		return
	}
	if !first.Deterministic {
		t.Fatalf("%s is not annotated Deterministic", first.Task)
		return
	}
	for n := uint64(2); n <= remakes; n++ {
		again, err := trial("worktest").Do(t.Context(), step, try(n)) // in a store of its own
		switch {
		case err != nil:
			t.Errorf("attempt %d of %s fails: %v", n, first.Task, err)
		case !bytes.Equal(first.Output, again.Output):
			t.Errorf("attempt %d of %s makes %.200q; the first made %.200q", n, first.Task, again.Output, first.Output)
		case !slices.Equal(objects(first), objects(again)):
			t.Errorf("attempt %d of %s puts other objects than the first", n, first.Task)
		default:
			continue
		}
		return // one difference is enough
	}
}

// objects returns the ids and digests of the objects that an attempt has put, in order.
func objects(r workflow.Recording) (all []string) {
	for _, ref := range r.Objects {
		all = append(all, string(ref.ID())+" "+ref.Digest().String())
	}
	slices.Sort(all)
	return all
}
