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

// Announced decides about the copy of generation gen that the root of a Reduce makes, after the owner's
// answer to its announcement: whether the object is final, and whether the copy stays. The owner does
// not list the node if the generation was over before it heard of the copy, as after a root that panicked
// where this one began anew. Then it gives the node no order either, and the callers there would wait for
// a copy that no one completes.
func Announced(gen phalanx.Generation, r directory.Result) (final bool, why Why) {
	if r.State == directory.Finished && r.Gen == gen {
		return true, Stays
	}
	return false, Answered(gen, r)
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
