package workflow

import "github.com/phalanx-go/phalanx"

// Ref is an object that an output names (workflow specification 1.3). The object of the output lists all that it names, so that a disk
// writes them with it, and a reader has those put again of which only checkpoints are left.
type Ref struct {
	Object phalanx.ObjectID
	Meta   phalanx.Meta
	Digest phalanx.Digest
}

// MostRefs bounds the objects that an output names.
const MostRefs = 100_000
