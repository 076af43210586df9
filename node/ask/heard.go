package ask

import "github.com/phalanx-go/phalanx/protocol/directory"

// heard is what a watch has been told. The version of a readiness rises over the
// owners of a shard, and carries the epoch in which it was told: so what a former
// owner says late is known as such.
type heard struct {
	Epoch uint64 // of the shard, when the watch was sent last

	version uint64 // of the last readiness that was taken
}

// Version returns the version of the last readiness that was taken.
func (h *heard) Version() uint64 { return h.version }

// Take decides about a readiness. One of an earlier epoch does not count: nothing
// may follow from it, not even that the present owner has the watch. Of those that
// count, news are those that tell something.
func (h *heard) Take(r directory.Readiness) (counts, news bool) {
	if r.Version>>32 < h.Epoch {
		return false, false
	}
	if r.Version <= h.version {
		return true, false
	}
	h.version = r.Version
	return true, true
}
