package ask

import "github.com/phalanx-go/phalanx/protocol/directory"

// heard is the progress of a watch. The version of a readiness rises over the owners of
// a shard, and carries the epoch in which it was told: so the watch recognises the late
// readiness of a former owner.
type heard struct {
	Epoch uint64 // of the shard, when the watch was sent last

	version uint64 // of the last readiness taken
}

// Version returns the version of the last readiness taken.
func (h *heard) Version() uint64 { return h.version }

// Take decides about a readiness. A readiness of an earlier epoch does not count: nothing
// may follow from it, not even that the present owner has the watch. It is news if it
// counts and its version is later.
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
