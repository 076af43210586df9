package store

import (
	"cmp"
	"slices"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/copies"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode"
)

// Holdings returns this node's copies of each shard that of marks, for the shards' new
// owners, by object. Of has one entry for each shard.
func (t *Table) Holdings(of []bool) [][]directory.Holding {
	t.mu.Lock()
	out := t.core.Holdings(of)
	t.mu.Unlock()
	copies.Sort(out)
	return out
}

// Everything returns this node's copies of all shards.
func (t *Table) Everything() []directory.Holding { return t.Holdings([]bool{true})[0] }

// Counts tells how many copies there are, how many of them are complete, pinned.
func (t *Table) Counts() (all, complete, pinned int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for c := range t.core.All() {
		if c.Complete {
			complete++
		}
		if c.Pinned {
			pinned++
		}
	}
	return t.core.Len(), complete, pinned
}

// Held returns how many checked bytes of id are here.
func (t *Table) Held(id phalanx.ObjectID) int64 {
	c := t.lookup(id)
	switch {
	case c == nil:
		return 0
	case c.buffer == nil:
		return int64(len(c.inline))
	}
	return c.buffer.Watermark()
}

// Complete returns the complete copies, by object.
func (t *Table) Complete() []storenode.Info {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []storenode.Info
	for c := range t.core.All() {
		if c.Complete {
			out = append(out, copyOf(c).info())
		}
	}
	slices.SortFunc(out, func(a, b storenode.Info) int { return cmp.Compare(a.Object, b.Object) })
	return out
}

// making returns the objects that this node makes without a Put and that are not final yet.
func (t *Table) making(puts []phalanx.ObjectID) []phalanx.ObjectID {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.core.Making(puts)
}
