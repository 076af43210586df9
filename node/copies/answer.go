package copies

import (
	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// Answered decides what becomes of a complete copy of generation gen after the owner's answer
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
// none. Answered decides what becomes of that copy.
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

// Put is a complete object of a Put that becomes this node's copy.
type Put struct {
	Shown bool   // others could read it while the Put made it
	Epoch uint64 // of the object's shard, when the owner was asked to make it final, with this node as a holder
	Size  int64
}

// Announced reports whether the node has to announce the copy of a Put, which the owner lists
// already. If the epoch has changed the next owner may have asked for the holdings before the
// copy was here; and a fetch of an object of this size may have told the owner that it gives up.
func (p Put) Announced(epoch uint64, inlineLimit int64) bool {
	return !p.Shown && (p.Epoch != epoch || p.Size >= inlineLimit)
}
