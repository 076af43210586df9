package store

import (
	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode"
)

// keepCopies notes that copies of generation gen are to be kept.
func (t *Table) keepCopies(id phalanx.ObjectID, gen phalanx.Generation, copies int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.core.KeepCopies(id, gen, copies)
}

// learn notes what the answer to a report of a copy of generation gen says about it.
func (t *Table) learn(id phalanx.ObjectID, gen phalanx.Generation, r directory.Result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.core.Learn(id, gen, r); n > 0 { // to force nothing presses the evictor too
		t.budget.Force(int64(n))
	}
}

// isTagged reports whether the copy of what made describes is known to be made by the Reduce
// whose digest is tag. Its owner may say so only in the answer to the report of it.
func (t *Table) isTagged(made storenode.Info, tag string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.core.Of(made.Object)
	return c != nil && c.Gen == made.Gen && c.Tag == tag
}
