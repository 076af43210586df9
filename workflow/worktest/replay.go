package worktest

import (
	"bytes"

	"github.com/phalanx-go/phalanx/workflow"
)

// Replay runs the function that a registry has for a recorded attempt, on the recorded inputs, and tests that it returns what
// was recorded. A function that is changed so needs a higher version: what a run has recorded is read by the new one. Replay is
// for tasks that make the same of the same inputs.
func Replay(t T, tasks *workflow.Registry, recorded workflow.Recording) {
	t.Helper()
	again, err := trial("worktest").Replay(t.Context(), tasks, recorded, try(1))
	switch {
	case err != nil:
		t.Errorf("%s fails on recorded inputs: %v", recorded.Task, err)
	case again.Expands != recorded.Expands:
		t.Errorf("%s returns a workflow: %v; recorded is %v", recorded.Task, again.Expands, recorded.Expands)
	case !bytes.Equal(output(again), output(recorded)):
		t.Errorf("%s makes %.200q of recorded inputs; recorded is %.200q", recorded.Task, again.Output, recorded.Output)
	}
}
