package sim

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/copies"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/transfer"
)

// copied is a copy with all or some of its bytes.
type copied struct {
	copies.Copy
	n       *node
	bytes   []byte         // the prefix that has come
	whole   bool           // every byte is there
	sum     phalanx.Digest // of all bytes
	room    int64          // reserved
	lasting int64          // part of room that eviction cannot free, as the memory was told
	evicted bool           // the evictor dropped it with leave
	again   bool           // announced since the node asked for leave to evict it
	listed  bool           // an owner lists it
	born    time.Duration  // when the life began that kept it over a removal; 0: this life got it
	path    []phalanx.NodeID
	small   bool    // the bytes came inline: there are no checks of pieces beside them
	flipped int     // a bit of the byte before this one has changed in memory; 0: none has
	back    *copied // gets the room when this copy goes: a place may make it again
	made    *filled // the memory that a place makes it in; nil: it has its own
}

// copyFor returns a copy that is not in the table.
func (n *node) copyFor(c copies.Copy) *copied {
	out := &copied{Copy: c, n: n}
	out.Bytes = out
	return out
}

func copyOf(c *copies.Copy) *copied {
	if c == nil {
		return nil
	}
	return c.Bytes.(*copied)
}

// fill gives a copy all its bytes. A part that has changed in memory stays as it is.
func (c *copied) fill(b []byte) {
	if at := c.flipped - 1; at >= 0 && b[at] != c.bytes[at] {
		b = slices.Clone(b)
		b[at] = c.bytes[at]
	}
	c.bytes, c.whole = b, true
	c.sum = digestOf(c.checked(0, len(b)))
}

// These methods implement copies.Bytes.

// Are reports whether all bytes are here and have this digest.
func (c *copied) Are(digest phalanx.Digest) bool { return c.whole && c.sum == digest }

// Begun reports whether the first piece is here.
func (c *copied) Begun() bool { return len(c.bytes) > 0 }

// Shown lets streams go on that wait for a copy, once the table is done.
func (c *copied) Shown() { c.n.after(0, func() { c.n.pump(c); c.n.w.step(c.n, "shown") }) }

// Whole checks a complete copy.
func (c *copied) Whole() {
	c.whole, c.back = true, nil
	c.n.memory.resize(c, int64(len(c.bytes)))
	c.n.w.audit.complete(c.n, c)
	c.n.after(0, func() { c.n.pump(c); c.n.awaited(c.Object); c.n.w.step(c.n, "complete") })
}

// Gone tells the readers of the copy, and gives its room back when the node no longer uses it.
func (c *copied) Gone(why error) {
	n, end := c.n, endingOf(why)
	if c.made != nil {
		c.made.fail(end)
	}
	for _, o := range slices.Clone(n.out) {
		if o.c == c && !o.over {
			o.end(new(end))
		}
	}
	if c.back != nil {
		c.back.room, c.room = c.back.room+c.room, 0
	}
	if c.Users() == 0 {
		n.memory.release(c)
	}
	n.after(0, func() { n.reduces.moved(c.Object); n.awaited(c.Object); n.w.step(n, "copy gone") })
}

func endingOf(why error) ending {
	if e, ok := why.(*copies.Ended); ok && e.Why == copies.Reset {
		return ending{why: transfer.Superseded, gen: e.Gen}
	}
	return ending{why: transfer.Gone}
}

// filled is the memory that a place makes its output in. The readers of every copy that has it
// hear once it has failed, also those of a copy that is shown later.
type filled struct{ failed *ending }

func (f *filled) fail(end ending) {
	if f.failed == nil {
		f.failed = &end
	}
}

// failed returns how the streams of c end, if its memory has failed.
func (c *copied) failed() *ending {
	if c.made == nil || c.made.failed == nil {
		return nil
	}
	return new(*c.made.failed)
}

// Counts tells the memory how much of its room lasts.
func (c *copied) Counts() { c.n.memory.lasts(c) }

func digestOf(b []byte) phalanx.Digest { return xxh3.Hash128(b).Bytes() }

// sortedObjects returns the keys of m in order: map order must not show.
func sortedObjects[V any](m map[phalanx.ObjectID]V) []phalanx.ObjectID {
	if len(m) == 0 { // most of the time, in each tick
		return nil
	}
	return slices.Sorted(maps.Keys(m))
}

// of returns the node's copy of an object, or nil.
func (n *node) of(id phalanx.ObjectID) *copied { return copyOf(n.table.Of(id)) }

// whole returns the node's complete copy of an object, or nil.
func (n *node) whole(id phalanx.ObjectID) *copied {
	if c := n.of(id); c != nil && c.Complete {
		return c
	}
	return nil
}

// wholes returns all complete copies in order.
func (n *node) wholes() (all []*copied) {
	for c := range n.table.All() {
		if c.Complete {
			all = append(all, copyOf(c))
		}
	}
	slices.SortFunc(all, func(a, b *copied) int { return cmp.Compare(a.Object, b.Object) })
	return all
}

// makes reports whether the node makes an object that is not final yet.
func (n *node) makes(id phalanx.ObjectID) bool {
	c := n.of(id)
	return c != nil && c.Origin && !c.Complete
}

// has reports whether the node has every byte of a generation.
func (n *node) has(id phalanx.ObjectID, gen phalanx.Generation) bool {
	c := n.of(id)
	return c != nil && c.Gen == gen && c.whole
}

// holdings lists this node's copies of a shard's objects.
func (n *node) holdings(shard int) []directory.Holding {
	of := make([]bool, n.w.shape.shards)
	of[shard] = true
	all := n.table.Holdings(of)
	copies.Sort(all)
	return all[shard]
}

// heard takes the owner's answer to the report of a complete copy.
func (n *node) heard(id phalanx.ObjectID, gen phalanx.Generation, r directory.Result) {
	n.table.Learn(id, gen, r)
	if copies.Answered(gen, r) != copies.Stays {
		n.table.DropObject(id, gen, nil)
	}
}

// settle completes an origin's copy that has all bytes: the root of a reduce hears that its target
// is final.
func (n *node) settle(p directory.Push) {
	if c := copyOf(n.table.Settles(p.Object, p.Gen, p.Digest)); c != nil {
		n.keepOrigin(c, p.Meta, !c.Ring)
	}
}

// keepOrigin makes a copy of this node's own making complete. It announces the copy first, for
// the reason that the method copies.Copy.Announcement gives.
func (n *node) keepOrigin(c *copied, meta phalanx.Meta, pinned bool) {
	n.client.report(c.Object, c.Announcement(pinned), nil)
	if !n.table.Finish(&c.Copy, meta, c.sum, pinned) {
		n.reportDrop(c.Object, c.Gen)
	}
	n.dropChanged(c)
}

// reportDrop reports that this node's copy or part of a generation is gone, unless it has all of it from
// elsewhere.
func (n *node) reportDrop(id phalanx.ObjectID, gen phalanx.Generation) {
	n.creates.Unlist(id)
	if f := n.fetches[id]; f != nil {
		f.unlisted = true
	}
	if !n.table.Whole(id, gen) {
		n.client.report(id, directory.Drop{Gen: gen}, nil)
	}
}
