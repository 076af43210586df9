package workflow

import (
	"strconv"
	"strings"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// outputID returns the id of the object that has an output (workflow specification 2.3).
func outputID(b core.Blob, deterministic bool) phalanx.ObjectID {
	a := attempt{run: b.Run.String(), path: strconv.Itoa(b.Task), gen: b.Gen, made: b.Made}
	a.call.Deterministic = deterministic
	return phalanx.ObjectID(prefixOf(&a) + outputName)
}

// placeOf returns the place of a checkpoint among the blobs of a disk.
func placeOf(b core.Blob) string { return string(outputID(b, false)) }

// runOf returns the run of a place.
func runOf(place string) (uid string) {
	rest, ok := strings.CutPrefix(place, "wf/")
	if !ok {
		return ""
	}
	uid, _, _ = strings.Cut(rest, "/")
	return uid
}

// givenOf returns an input of an attempt: its bytes, or its object.
func givenOf(run core.UID, l core.Located) given {
	switch {
	case l.Output.Error != "":
		return given{failed: l.Output.Error}
	case int64(len(l.Output.Bytes)) == l.Output.Size:
		return given{bytes: l.Output.Bytes}
	}
	id := outputID(core.Blob{Run: run, Task: l.Task, Gen: l.Gen, Made: l.Made}, l.Deterministic)
	return given{object: Ref{id: id, size: l.Output.Size, digest: l.Output.Digest}}
}
