// Package worktest tests what tasks promise by their annotations (workflow specification 1.2). Runs rely on it and cannot
// see whether it holds: a task that breaks its promise takes effect twice, or not at all, in the run that fails.
//
//   - Twice: a task without annotations, or with Idempotent, may be repeated.
//   - Straggler: nothing takes effect after its undo, however late it comes.
//   - Remake: a task with Deterministic makes the same bytes each time.
//   - Replay: a function still does with a recorded attempt what it did.
//
// The functions run single attempts by workflow.Trial: steps have values only for arguments. Effects are what a function
// that the test gives can see of them, by key; two states are the same if reflect.DeepEqual says so.
package worktest

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/phalanx-go/phalanx/workflow"
)

// T is what the functions need of a testing.T.
type T interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Effects returns what outsiders see of a task's effect under a key. The key itself is not in it, so that the effects of two keys can be
// compared.
type Effects func(key string) any

// trial returns a Trial with a key of its own.
func trial(run string) *workflow.Trial { return workflow.NewTrial(workflow.TrialConfig{Run: run}) }

// fence returns the fence of the n-th attempt.
func fence(n uint64) workflow.Fence { return workflow.Fence{Generation: 1, Term: 1, Attempt: n} }

// try returns the n-th attempt.
func try(n uint64) workflow.Try { return workflow.Try{Number: int(n), Fence: fence(n)} }

// output returns the output of an attempt with the digests of the objects that it has put in place of their ids: each attempt
// of a task that is not deterministic has ids of its own.
func output(r workflow.Recording) []byte {
	out := r.Output
	for _, ref := range r.Objects {
		id, err := json.Marshal(ref.ID())
		if err != nil { // an id is UTF-8
			continue
		}
		out = bytes.ReplaceAll(out, id, []byte(ref.Digest().String()))
	}
	return out
}
