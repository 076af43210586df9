package storenode

import (
	"cmp"
	"slices"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// Holdings returns what this node has of each shard that is marked in of, which has
// all of them, by object: for their new owners.
func (t *Table) Holdings(of []bool) [][]directory.Holding {
	out := make([][]directory.Holding, len(of))
	t.mu.Lock()
	for id, c := range t.copies {
		if i := id.Shard(len(of)); of[i] {
			out[i] = append(out[i], directory.Holding{Object: id, Gen: c.gen, Meta: c.meta, Digest: c.digest, Complete: c.complete,
				Pinned: c.pinned, Origin: c.origin && !c.complete && !c.ring, Begun: c.begun(), Lease: c.lease, Upstream: c.upstream,
				Copies: c.copies, Tag: c.tag, Note: c.note})
		}
	}
	t.mu.Unlock()
	for _, list := range out {
		slices.SortFunc(list, func(a, b directory.Holding) int { return cmp.Compare(a.Object, b.Object) })
	}
	return out
}

// begun reports whether c has its first piece.
func (c *objectCopy) begun() bool { return c.complete || c.buffer != nil && c.buffer.Watermark() > 0 }

// Everything returns what this node has of all shards.
func (t *Table) Everything() []directory.Holding { return t.Holdings([]bool{true})[0] }

// Counts tells how many copies there are, how many of them are complete, pinned.
func (t *Table) Counts() (all, complete, pinned int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.copies {
		if c.complete {
			complete++
		}
		if c.pinned {
			pinned++
		}
	}
	return len(t.copies), complete, pinned
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
func (t *Table) Complete() []Info {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []Info
	for _, c := range t.copies {
		if c.complete {
			out = append(out, c.info())
		}
	}
	slices.SortFunc(out, func(a, b Info) int { return cmp.Compare(a.Object, b.Object) })
	return out
}

// making returns the objects that are made here and are not final yet, in order.
func (t *Table) making() []phalanx.ObjectID {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []phalanx.ObjectID
	for id, c := range t.copies {
		if !c.complete && (c.origin || c.ring) {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}
