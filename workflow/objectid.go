package workflow

import (
	flow "github.com/phalanx-go/phalanx/node/workflow"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// givenOf returns an input of an attempt: its bytes, or its object.
func givenOf(run core.UID, l core.Located) given {
	if id := flow.InputID(run, l); id != "" {
		g := given{from: &l, object: Ref{id: id, size: l.Output.Size, digest: l.Output.Digest}}
		g.bundle = l.Output.Refs > 0
		return g
	}
	if l.Output.Error != "" {
		return given{failed: l.Output.Error}
	}
	return given{from: &l, bytes: l.Output.Bytes}
}
