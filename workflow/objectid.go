package workflow

import (
	flow "github.com/phalanx-go/phalanx/node/workflow"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// givenOf returns an input of an attempt: its bytes, or its object.
func givenOf(run core.UID, l core.Located) given {
	switch {
	case l.Output.Error != "":
		return given{failed: l.Output.Error}
	case int64(len(l.Output.Bytes)) == l.Output.Size:
		return given{bytes: l.Output.Bytes}
	}
	id := flow.OutputID(core.Blob{Run: run, Task: l.Task, Gen: l.Gen, Made: l.Made}, l.Deterministic)
	return given{object: Ref{id: id, size: l.Output.Size, digest: l.Output.Digest}}
}
