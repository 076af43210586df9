package copies

import "github.com/phalanx-go/phalanx"

// Outcome is the fate of a copy whose bytes have changed in memory.
type Outcome uint8

// The outcomes.
const (
	Gone     Outcome = iota // the copy was dropped before: nothing is left to do
	Restarts                // the copy is a part: the fetch that fills it starts over, and a Put that makes it fails
	Removed                 // the copy was complete and is dropped: the host reports that it is gone
)

// Corrupted gives up c, whose bytes had passed their check and do not any more (specification 3.4).
// Readers of a complete copy get err.
func (t *Table) Corrupted(c *Copy, err error) Outcome {
	switch {
	case c.Dropped:
		return Gone
	case !c.Complete:
		c.changed = true
		return Restarts
	}
	t.Drop(c, err)
	return Removed
}

// DropChanged forgets c, which has just become complete, if its bytes had changed while it was a part, and
// reports whether it did: the host reports that it is gone. A Put that has asked its owner to record the object
// keeps its copy until the answer, and makes it complete then. Readers of c get err.
func (t *Table) DropChanged(c *Copy, err error) bool { return c.changed && t.Drop(c, err) }

// Finding returns the answer to an owner that asks for the digest of a copy: now is the digest of
// the bytes as they are, and kept the one beside them. A copy whose bytes have changed is corrupted
// and has no digest. If each piece is as its maker made it (intact), the kept digest is wrong, and
// the owner has to know.
func Finding(kept, now phalanx.Digest, intact func() bool) (tell phalanx.Digest, corrupted bool) {
	if now == kept || intact() {
		return now, false
	}
	return phalanx.Digest{}, true
}
