package storenode

import (
	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/copies"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// lore is what a node keeps beside a complete copy, for the owner that has to begin
// with nothing but copies: the one before and its backup were lost (specification 2.5).
type lore struct {
	copies int    // how many are to be kept, of a pinned one; 0: it is not known
	tag    string // the digest of the Reduce that has made it, if there was one
	note   []byte // the answer of that, of a pinned one
}

// maxNote bounds the answer of a Reduce that is kept beside a copy: it has to fit into
// a message. A longer one is lost with the shard.
const maxNote = 128 << 10

// keepCopies notes that copies of generation gen are to be kept.
func (t *Table) keepCopies(id phalanx.ObjectID, gen phalanx.Generation, copies int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.copies[id]; c != nil && c.gen == gen && copies > 1 {
		c.copies = max(c.copies, copies)
	}
}

// learn notes what the answer to a report of a copy of generation gen says about it.
func (t *Table) learn(id phalanx.ObjectID, gen phalanx.Generation, r directory.Result) {
	if !copies.Tells(gen, r) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.copies[id]
	if c == nil || c.gen != gen {
		return
	}
	c.tag = r.Tag
	if c.pinned && c.note == nil && len(r.Note) <= maxNote {
		c.note = r.Note
		t.budget.Force(int64(len(c.note)))
	}
}

// isTagged reports whether c is known to be made by the Reduce whose digest is tag. Its
// owner may say so only in the answer to the report of it.
func (t *Table) isTagged(c *objectCopy, tag string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return c.tag == tag
}
