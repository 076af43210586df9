package copies

import (
	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// Answered decides what becomes of a complete copy of generation gen after the owner's answer
// to a report that it is here: nobody would tell this node to drop what the owner did not list.
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

// Tells reports whether r says of which Reduce the copy of generation gen is the result.
func Tells(gen phalanx.Generation, r directory.Result) bool {
	return r.Kind == 0 && !r.Waiting && r.State == directory.Finished && r.Gen == gen && r.Tag != ""
}

// Put is a complete object of a Put that becomes this node's copy.
type Put struct {
	Shown bool   // others could read it while it was made
	Epoch uint64 // of the object's shard, when the owner was asked to make it final, with this node as a holder
	Size  int64
}

// Announced reports whether the owner has to be told of the copy of a Put, which it lists
// already, now that the epoch is another perhaps. The next owner may have asked what is here
// before the copy was; or a fetch of an object of this size has told the owner that it gives up.
func (p Put) Announced(epoch uint64, inlineLimit int64) bool {
	return !p.Shown && (p.Epoch != epoch || p.Size >= inlineLimit)
}
