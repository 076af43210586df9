package message

import (
	"cmp"
	"fmt"
)

// Fence numbers the holds of a semaphore whose count is 1: each has a greater one than those
// before it, also if the barrier was forgotten meanwhile, or its managers have died. A resource
// that remembers the greatest Fence that it has seen, and refuses lesser ones, is safe from a
// holder that has lost the semaphore and does not know it yet.
type Fence struct {
	Term  uint64 // of the manager that let it in
	Batch uint64 // within the term
}

// Compare orders fences.
func (f Fence) Compare(g Fence) int {
	return cmp.Or(cmp.Compare(f.Term, g.Term), cmp.Compare(f.Batch, g.Batch))
}

// String returns a text of 33 bytes. Texts are ordered as the fences are.
func (f Fence) String() string { return fmt.Sprintf("%016x.%016x", f.Term, f.Batch) }
