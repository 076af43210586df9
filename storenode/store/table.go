package store

import (
	"sync"
	"sync/atomic"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/copies"
	"github.com/phalanx-go/phalanx/storenode"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// objectCopy is this node's copy of one generation of an object. The table's lock guards it,
// except for its atomic field and path; its bytes are in buffer, or inline.
type objectCopy struct {
	copies.Copy
	table  *Table
	buffer *dataplane.Buffer // nil if the bytes are inline
	inline []byte
	over   chan struct{} // closed once the copy is complete, or dropped

	lasting lasting // as the budget was told

	again atomic.Bool // announced since the node asked for leave to evict it
	path  upstreams
}

// lasting is how much of a copy's memory eviction does not give back.
type lasting struct{ pinned, reserved int64 }

// copyCost is the memory in bytes of a copy besides its bytes: the copy, its buffer and the
// map's share, as measured with a hundred thousand copies of 100 bytes. The budget cannot
// refuse it, since the bytes are here already.
const copyCost = 740

// copyOf returns the host of c; nil for nil.
func copyOf(c *copies.Copy) *objectCopy {
	if c == nil {
		return nil
	}
	return c.Bytes.(*objectCopy)
}

// info describes a complete copy.
func (c *objectCopy) info() storenode.Info {
	return storenode.Info{Object: c.Object, Gen: c.Gen, Meta: c.Meta, Digest: c.Digest}
}

// length returns how many bytes the object has, or phalanx.UnknownSize.
func (c *objectCopy) length() int64 {
	if c.buffer == nil {
		return int64(len(c.inline))
	}
	return c.buffer.Size()
}

// size returns how many bytes of memory the copy holds.
func (c *objectCopy) size() int64 {
	if c.buffer == nil {
		return int64(len(c.inline))
	}
	return c.buffer.Held()
}

// Table holds the copies of this node: it hosts copies.Table. It is safe for concurrent
// use and outlives the actors that work on it.
type Table struct {
	budget *dataplane.Budget

	mu      sync.Mutex
	core    *copies.Table
	arrival map[phalanx.ObjectID]*awaited // the objects for whose copies callers wait
}

// awaited is an object for whose copy callers wait. The last waiter takes it off the table,
// since a copy may never come.
type awaited struct {
	shown   chan struct{} // closed when a copy is shown
	waiting int
}

// NewTable returns an empty table.
func NewTable(budget *dataplane.Budget) *Table {
	return &Table{budget: budget, core: copies.NewTable(), arrival: map[phalanx.ObjectID]*awaited{}}
}

// newCopy returns a copy that is not in the table yet.
func (t *Table) newCopy(c copies.Copy, buffer *dataplane.Buffer, inline []byte) *objectCopy {
	out := &objectCopy{Copy: c, table: t, buffer: buffer, inline: inline, over: make(chan struct{})}
	out.Bytes = out
	return out
}

// show makes buffer readable by others as generation gen. It takes over the
// caller's reference. A copy of an older generation is dropped; show reports
// false, and keeps the reference, if there is a newer one.
func (t *Table) show(id phalanx.ObjectID, gen phalanx.Generation, meta phalanx.Meta, buffer *dataplane.Buffer, origin bool) (*objectCopy, bool) {
	return t.showCopy(t.newCopy(copies.Copy{Object: id, Gen: gen, Meta: meta, Origin: origin}, buffer, nil))
}

func (t *Table) showCopy(c *objectCopy) (*objectCopy, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, ok := t.core.Show(&c.Copy)
	return copyOf(now), ok
}

// keepInline keeps a complete copy of a small object, and retains it for the caller. The
// caller has reserved room for the bytes, which the table takes over. If this node has a newer
// generation by now, the returned copy counts as dropped.
func (t *Table) keepInline(info storenode.Info, bytes []byte, tag string, pinned bool) *objectCopy {
	c := t.newCopy(copies.Copy{Object: info.Object, Gen: info.Gen, Meta: info.Meta, Digest: info.Digest, Pinned: pinned, Lore: copies.Lore{Tag: tag}}, nil, bytes)
	close(c.over)
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := copyOf(t.core.Enter(&c.Copy))
	if kept != c {
		t.budget.Release(int64(len(bytes)))
	}
	if kept.buffer != nil {
		kept.buffer.Retain()
	}
	return kept
}

// supply keeps all bytes of a Put. It takes over the caller's reference of buffer if it returns
// copies.Kept.
func (t *Table) supply(info storenode.Info, buffer *dataplane.Buffer) copies.Supplied {
	c := t.newCopy(copies.Copy{Object: info.Object, Gen: info.Gen, Meta: info.Meta, Digest: info.Digest}, buffer, nil)
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.core.Supply(&c.Copy)
}

// supplant makes buffer, which has all bytes, this node's pinned copy in place of a
// part of them. Other nodes that read the part get err, and readers here go on with the
// copy. It reports false if there is a complete copy, or a newer generation.
func (t *Table) supplant(info storenode.Info, buffer *dataplane.Buffer, err error) (*objectCopy, bool) {
	c := t.newCopy(copies.Copy{Object: info.Object, Gen: info.Gen, Meta: info.Meta, Digest: info.Digest}, buffer, nil)
	t.mu.Lock()
	defer t.mu.Unlock()
	return c, t.core.Supplant(&c.Copy, err)
}

// successor retains the complete copy of the same generation that has taken the place
// of c, which was dropped; nil if there is none.
func (t *Table) successor(c *objectCopy) *objectCopy {
	t.mu.Lock()
	defer t.mu.Unlock()
	next := copyOf(t.core.Successor(&c.Copy))
	if next != nil {
		t.useLocked(next)
	}
	return next
}

// digestOf returns the digest with which c became complete; zero before that.
func (t *Table) digestOf(c *objectCopy) phalanx.Digest {
	t.mu.Lock()
	defer t.mu.Unlock()
	return c.Digest
}

// finish makes c complete, and reports whether it is here at all.
func (t *Table) finish(c *objectCopy, meta phalanx.Meta, digest phalanx.Digest, pinned bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.core.Finish(&c.Copy, meta, digest, pinned)
}

// unlessWhole returns the result of number, unless this node has all of a generation, or makes
// it. A caller that puts a copy into the table after that, and then reports it, has a greater
// number.
func (t *Table) unlessWhole(id phalanx.ObjectID, gen phalanx.Generation, number func() uint64) (num uint64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.core.Whole(id, gen) {
		return 0, false
	}
	return number(), true
}

// ifWhole returns the result of number, and whether the copy is pinned, if this node has all of
// a generation and asks for no leave to evict it.
func (t *Table) ifWhole(id phalanx.ObjectID, gen phalanx.Generation, number func() uint64) (num uint64, pinned, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.core.Sure(id, gen)
	if c == nil {
		return 0, false, false
	}
	return number(), c.Pinned, true
}

// settles returns the copy that an order makes complete, or nil.
func (t *Table) settles(p originFinal) *objectCopy {
	t.mu.Lock()
	defer t.mu.Unlock()
	return copyOf(t.core.Settles(p.object, p.gen, p.digest))
}

func (t *Table) isDropped(c *objectCopy) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return c.Dropped
}

func (t *Table) isPinned(c *objectCopy) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return c.Pinned
}

// pinAtLeast pins the copy of id that is of generation gen or a newer one, and
// reports whether there is one.
func (t *Table) pinAtLeast(id phalanx.ObjectID, gen phalanx.Generation) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.core.Pin(id, gen)
}

// want pins c if a call is to pin that generation. It calls leaves with the lock held.
func (t *Table) want(c *objectCopy, gen phalanx.Generation, leaves func() bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.core.Want(&c.Copy, gen, leaves())
}

// drop forgets c, and reports whether it was here. Its readers get err. Views keep their bytes.
func (t *Table) drop(c *objectCopy, err error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.core.Drop(&c.Copy, err)
}

// corrupted gives up c, whose bytes have changed in memory. Its readers get err.
func (t *Table) corrupted(c *objectCopy, err error) copies.Outcome {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.core.Corrupted(&c.Copy, err)
}

// dropChanged forgets c, which is complete now, if its bytes had changed in memory before.
func (t *Table) dropChanged(c *objectCopy, err error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.core.DropChanged(&c.Copy, err)
}

// dropPart is drop for a copy that stays once it is complete.
func (t *Table) dropPart(c *objectCopy, err error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.core.DropPart(&c.Copy, err)
}

// dropObject forgets the copy of id if its generation is before, or is, gen, and returns it.
func (t *Table) dropObject(id phalanx.ObjectID, gen phalanx.Generation, err error) *objectCopy {
	t.mu.Lock()
	defer t.mu.Unlock()
	return copyOf(t.core.DropObject(id, gen, err))
}

// lookup returns the copy of id, or nil.
func (t *Table) lookup(id phalanx.ObjectID) *objectCopy {
	t.mu.Lock()
	defer t.mu.Unlock()
	return copyOf(t.core.Of(id))
}

// View returns a view of id if this node has a complete copy, else nil.
func (t *Table) View(id phalanx.ObjectID) *storenode.View {
	if c := t.whole(id); c != nil {
		return c.view()
	}
	return nil
}

// whole retains and returns the copy of id if it is complete, else nil.
func (t *Table) whole(id phalanx.ObjectID) *objectCopy {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.core.Of(id)
	if c == nil || !c.Complete {
		return nil
	}
	t.useLocked(copyOf(c))
	return copyOf(c)
}

// way returns the way in which a caller gets id, and this node's copy. A complete one is retained.
func (t *Table) way(id phalanx.ObjectID) (*objectCopy, copies.Way) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := copyOf(t.core.Of(id))
	way := t.core.Way(t.core.Of(id))
	if way == copies.Has {
		t.useLocked(c)
	}
	return c, way
}

// obeyed returns the pinned copy that p has ordered this node to keep, or nil. It notes how many
// copies p asks for.
func (t *Table) obeyed(p Pushed) *objectCopy {
	t.mu.Lock()
	defer t.mu.Unlock()
	return copyOf(t.core.Obeyed(p.Object, p.Gen, p.Copies))
}

// view returns a view of a complete copy. The caller has retained the copy for it.
func (c *objectCopy) view() *storenode.View {
	bytes := c.inline
	if c.buffer != nil {
		bytes = c.buffer.Bytes(0, c.Meta.Size)
	}
	return storenode.NewView(c.info(), bytes, c)
}

// Release implements storenode.Holder.
func (c *objectCopy) Release() { c.table.release(c) }

// Whole describes this node's copy of id, if it is complete.
func (t *Table) Whole(id phalanx.ObjectID) (storenode.Info, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.core.Of(id)
	if c == nil || !c.Complete {
		return storenode.Info{}, false
	}
	return copyOf(c).info(), true
}

// viewOf returns a view of c, which is complete, or nil if it was dropped.
func (t *Table) viewOf(c *objectCopy) *storenode.View {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.Dropped {
		return nil
	}
	t.useLocked(c)
	return c.view()
}

// retain keeps c for a reader, if it was not dropped. Until release no eviction drops it, and
// its bytes stay, also if an order drops it.
func (t *Table) retain(c *objectCopy) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.Dropped {
		return false
	}
	t.useLocked(c)
	return true
}

// useLocked is retain for a copy that was not dropped.
func (t *Table) useLocked(c *objectCopy) {
	if t.core.Use(&c.Copy) && c.buffer != nil {
		c.buffer.Retain()
	}
}

// release ends a use that retain began.
func (t *Table) release(c *objectCopy) {
	t.mu.Lock()
	last := t.core.Unuse(&c.Copy)
	t.mu.Unlock()
	switch {
	case c.buffer != nil:
		c.buffer.Release() // outside of the lock: it may unmap memory
	case last:
		t.budget.Release(int64(len(c.inline)))
	}
}

// arrived returns a channel that is closed when a copy of id is shown. A caller that ends its
// wait calls leave.
func (t *Table) arrived(id phalanx.ObjectID) (shown <-chan struct{}, leave func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.arrival[id]
	if a == nil {
		a = &awaited{shown: make(chan struct{})}
		t.arrival[id] = a
	}
	a.waiting++
	return a.shown, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if a.waiting--; a.waiting == 0 && t.arrival[id] == a {
			delete(t.arrival, id)
		}
	}
}

// served ends a stream of c and returns how many receivers are left.
func (t *Table) served(c *objectCopy) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.buffer != nil {
		c.buffer.Release()
	}
	return t.core.Served(&c.Copy)
}

// reading notes c's sender, its lease and its maker.
func (t *Table) reading(c *objectCopy, upstream phalanx.NodeID, lease uint64, maker phalanx.NodeID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.core.Reading(&c.Copy, upstream, lease, maker)
	c.path.set([]phalanx.NodeID{upstream})
}

// awaits returns the reason why c is not complete, and the node that is to send or to make it.
func (t *Table) awaits(c *objectCopy) (node phalanx.NodeID, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.buffer.Complete() {
		return c.Maker, "the object is not final: its creator has not finished"
	}
	return c.Upstream, "its bytes have not all arrived"
}

// leased reports whether the copy of id is read under a lease.
func (t *Table) leased(id phalanx.ObjectID, lease uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.core.Leased(id, lease)
}

// isComplete reports whether c is complete, and was not dropped.
func (t *Table) isComplete(c *objectCopy) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return c.Complete && !c.Dropped
}

// Close drops every copy.
func (t *Table) Close(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for c := range t.core.All() {
		t.core.Drop(c, err)
	}
}

// KeepComplete drops every copy that is not complete.
func (t *Table) KeepComplete(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.core.DropParts(err)
}
