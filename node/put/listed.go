package put

import "github.com/phalanx-go/phalanx/protocol/directory"

// Lists reports whether the owner lists this node as a holder when it answers this request of a Put
// without an error. Other nodes may give up their copies then. So the bytes of a Put whose actor panics stay until
// the owner has answered, as those of a Put whose caller has gone away: the transfer.Creator hears the answer.
func Lists(b directory.Body) bool {
	switch b.(type) {
	case directory.Final, directory.PutInline:
		return true
	}
	return false
}

// Copy has all bytes of a Put, which the owner lists as this node's copy already, and which the node enters
// into its table.
type Copy struct {
	Epoch uint64 // of the object's shard, when the owner was asked to list it; 0: the Put may not run any more
	Size  int64
}

// Announced reports whether the node has to announce the copy. In another epoch the next owner may have
// asked for the holdings before the copy was here. A fetch of an object of this size, or an eviction, may have told
// the owner that this node has no copy.
func (c Copy) Announced(epoch uint64, inlineLimit int64, since Since) bool {
	return since.Unlisted || c.Epoch != epoch || c.Size >= inlineLimit
}
