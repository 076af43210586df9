package put

import "github.com/phalanx-go/phalanx/protocol/directory"

// Put is the state of the bytes of one Put.
type Put struct {
	shown, kept bool
	epoch       uint64 // of the object's shard, when the owner was asked to list the copy
}

// Ask notes that the node asks the owner b, in an epoch of the object's shard.
func (p *Put) Ask(b directory.Body, epoch uint64) {
	if Lists(b) {
		p.epoch = epoch
	}
}

// Show notes that others can read the copy from now on, and that it is in the table.
func (p *Put) Show() { p.shown = true }

// Keep is a node's step with the bytes of a Put that are final.
type Keep uint8

// The ways to keep them.
const (
	Nothing Keep = iota // they were kept before the other copies were made
	Finish              // complete the copy in the table, pinned
	Enter               // make them the copy, or give them to a fetch that has a part; see Copy
)

// Keep says how to keep the bytes, which are final.
func (p *Put) Keep() Keep {
	before := p.kept
	p.kept = true
	switch {
	case before:
		return Nothing
	case p.shown:
		return Finish
	}
	return Enter
}

// Entry returns the bytes as a copy that enters the table.
func (p *Put) Entry(size int64) Copy { return Copy{Epoch: p.epoch, Size: size} }

// Drops reports whether the node drops the copy of a Put that has ended or has panicked. A copy that is kept stays:
// the owner counts on it.
func (p *Put) Drops() bool { return p.shown && !p.kept }
