package store

import (
	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/copies"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// These methods implement copies.Bytes. The caller holds the table's lock.

// Are reports whether c has all bytes, and digest is theirs.
func (c *objectCopy) Are(digest phalanx.Digest) bool {
	mine, whole := c.buffer.Digest()
	return whole && mine == digest
}

// Begun reports whether c has its first piece.
func (c *objectCopy) Begun() bool { return c.buffer != nil && c.buffer.Watermark() > 0 }

// Shown wakes the callers that wait for a copy of the object.
func (c *objectCopy) Shown() {
	t := c.table
	t.budget.Force(copyCost)
	if a := t.arrival[c.Object]; a != nil {
		close(a.shown)
		delete(t.arrival, c.Object)
	}
}

// Whole wakes the callers that wait for the complete copy.
func (c *objectCopy) Whole() { close(c.over) }

// Gone fails the readers of c, and gives its memory back after the last user.
func (c *objectCopy) Gone(why error) {
	t := c.table
	t.budget.Release(copyCost + int64(len(c.Note)))
	if !c.Complete {
		close(c.over)
	}
	if c.buffer != nil {
		c.buffer.Fail(endedBy(why))
		c.buffer.Release()
		return
	}
	if c.Users() == 0 { // else the last user gives them back
		t.budget.Release(int64(len(c.inline)))
	}
}

// endedBy returns the error for readers of a copy that another copy has replaced.
func endedBy(why error) error {
	e, ok := why.(*copies.Ended)
	switch {
	case !ok:
		return why
	case e.Why == copies.Reset:
		return &dataplane.Ended{Reason: dataplane.Reset, Generation: e.Gen}
	}
	return &dataplane.Ended{Reason: dataplane.Gone, Kind: phalanx.ErrAborted}
}

// Counts tells the budget how much of c's memory lasts: all of a pinned copy, and of one
// that will be.
func (c *objectCopy) Counts() {
	var now lasting
	switch pinned, reserved := c.Lasts(); {
	case pinned:
		now.pinned = c.size() + copyCost
	case reserved:
		now.reserved = c.size() + copyCost
	}
	if was := c.lasting; now != was {
		c.lasting = now
		c.table.budget.Last(now.pinned-was.pinned, now.reserved-was.reserved)
	}
}
