package copies

import (
	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// Answered decides whether a complete copy of generation gen stays after the owner's answer
// to a report that it is here: no owner orders a node to drop a copy that it has not listed.
func Answered(gen phalanx.Generation, r directory.Result) Why {
	switch {
	case r.Kind != 0, r.Waiting:
		return Stays
	case r.State == directory.Unbound: // it was released, not deleted
		return Aborted
	case r.State == directory.Deleted:
		return Deleted
	case gen.Less(r.Gen):
		return Reset
	}
	return Stays
}

// Reported returns the generation of a complete copy that a report says is here; zero: it says so of
// none. Answered decides about that copy.
func Reported(report directory.Body) (gen phalanx.Generation) {
	if b, ok := report.(directory.Announce); ok && b.Complete {
		return b.Gen
	}
	if b, ok := report.(directory.Done); ok && b.Complete {
		return b.Gen
	}
	return gen
}

// Tells reports whether r names the Reduce that has made generation gen.
func Tells(gen phalanx.Generation, r directory.Result) bool {
	return r.Kind == 0 && !r.Waiting && r.State == directory.Finished && r.Gen == gen && r.Tag != ""
}
