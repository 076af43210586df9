package store

import (
	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode"
)

// keepCopies notes how many copies of generation gen the cluster is to keep.
func (t *Table) keepCopies(id phalanx.ObjectID, gen phalanx.Generation, copies int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.core.KeepCopies(id, gen, copies)
}

// learn notes the facts about a copy of generation gen in the answer to its report.
func (t *Table) learn(id phalanx.ObjectID, gen phalanx.Generation, r directory.Result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.core.Learn(id, gen, r); n > 0 { // Force presses the evictor even for 0 bytes
		t.budget.Force(int64(n))
	}
}

// isTagged reports whether the Reduce whose fingerprint is tag has made the copy that made
// describes, as its owner has told. The owner may tell so only in the answer to its report.
func (t *Table) isTagged(made storenode.Info, tag string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.core.Of(made.Object)
	return c != nil && c.Gen == made.Gen && c.Tag == tag
}
