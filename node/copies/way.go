package copies

import "github.com/phalanx-go/phalanx"

// Way is how a caller of a node gets an object.
type Way uint8

// The ways.
const (
	Fetches Way = iota // by the fetch that brings it, which the host begins if there is none
	Has                // from the node's complete copy
	Makes              // from the node's own copy, once that is final: no other node could send it
)

// Way returns the way in which a caller gets the object of c, the table's copy; nil: there is none.
func (t *Table) Way(c *Copy) Way {
	switch {
	case c == nil:
		return Fetches
	case c.Complete:
		return Has
	case c.Origin:
		return Makes
	}
	return Fetches
}

// Obeyed returns the copy that an owner has ordered this node to keep, of generation gen, as one of
// so many in the cluster. The host announces it. It returns nil if a call has brought another
// generation, or the node has not pinned the copy since it leaves.
func (t *Table) Obeyed(id phalanx.ObjectID, gen phalanx.Generation, copies int) *Copy {
	c := t.copies[id]
	if c == nil || c.Gen != gen || !c.Complete || !c.Pinned {
		return nil
	}
	t.KeepCopies(id, gen, copies)
	return c
}
