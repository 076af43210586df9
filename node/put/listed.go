package put

import (
	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// Lists reports whether the owner lists this node as a holder when it answers this request of a Put
// without an error.
func Lists(b directory.Body) bool {
	switch b.(type) {
	case directory.Final, directory.PutInline:
		return true
	}
	return false
}

// Listed returns the generation as whose holder the owner lists this node, as r, its answer to a request of
// a Put, says; false: it does not. A Put that has panicked has no copy of it: the node reports that it is gone,
// unless it has all of it from elsewhere.
func Listed(b directory.Body, r directory.Result) (gen phalanx.Generation, ok bool) {
	return r.Gen, Lists(b) && r.Kind == 0 && !r.Waiting
}

// Copy has all bytes of a Put, which the owner lists as this node's copy already, and which the node enters
// into its table.
type Copy struct {
	Epoch uint64 // of the object's shard, when the owner was asked to list it; 0: the Put may not run any more
	Size  int64
}

// Announced reports whether the node has to announce the copy. In another epoch the next owner may have
// asked for the holdings before the copy was here. A fetch of an object of this size, or another Put, may have told
// the owner that it gives up.
func (c Copy) Announced(epoch uint64, inlineLimit int64, since Since) bool {
	return since.Unlisted || c.Epoch != epoch || c.Size >= inlineLimit
}
