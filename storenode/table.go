package storenode

import (
	"sync"
	"sync/atomic"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// objectCopy is what this node has of one generation of an object. The table's
// lock guards it, except for what is atomic; its bytes are in buffer, or inline.
type objectCopy struct {
	object phalanx.ObjectID
	gen    phalanx.Generation
	buffer *dataplane.Buffer // nil if the bytes are inline
	inline []byte
	over   chan struct{} // closed once the copy is complete, or dropped

	lore

	meta     phalanx.Meta
	digest   phalanx.Digest // once complete
	complete bool
	pinned   bool
	origin   bool
	ring     bool // made here, but the owner is not told of it before it is whole
	dropped  bool
	lease    uint64
	upstream phalanx.NodeID
	maker    phalanx.NodeID // of what comes from upstream, if that is known
	streams  int            // receivers that read from it
	users    int            // readers, views and places of this node that are in it
	used     uint64         // the table's count of uses, when the last one ended
	asked    bool           // leave to evict it is asked for
	at       neighbours     // in the list of copies that may be evicted
	lasting  lasting        // as the budget was told

	again atomic.Bool // announced since leave to evict it was asked for
	path  upstreams
}

// lasting is how much of a copy's memory eviction does not give back.
type lasting struct{ pinned, reserved int64 }

// copyCost is what a copy takes besides its bytes: it, its buffer and the map's
// share, as measured with a hundred thousand of 100 bytes. It cannot be refused,
// since the bytes are here already.
const copyCost = 740

// info describes a complete copy.
func (c *objectCopy) info() Info {
	return Info{Object: c.object, Gen: c.gen, Meta: c.meta, Digest: c.digest}
}

// is reports whether all bytes are here, and are those of digest.
func (c *objectCopy) is(digest phalanx.Digest) bool {
	if c.complete {
		return c.digest == digest
	}
	mine, whole := c.buffer.Digest()
	return whole && mine == digest
}

// bytes returns how many bytes the object has, or phalanx.UnknownSize.
func (c *objectCopy) bytes() int64 {
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

// Table holds the copies of this node. It is safe for concurrent use and
// outlives the actors that work on it.
type Table struct {
	budget *dataplane.Budget

	mu      sync.Mutex
	copies  map[phalanx.ObjectID]*objectCopy
	arrival map[phalanx.ObjectID]*awaited // who waits for a copy to be shown
	uses    uint64
	lanes   []lane // by directory shard

	evictions uint64 // copies that were dropped for room
}

// awaited is an object of which somebody waits for a copy to be shown. The last who
// leaves takes it off the table: it may never be shown.
type awaited struct {
	shown   chan struct{} // closed then
	waiting int
}

// NewTable returns an empty table.
func NewTable(budget *dataplane.Budget) *Table {
	return &Table{budget: budget, copies: map[phalanx.ObjectID]*objectCopy{}, arrival: map[phalanx.ObjectID]*awaited{}, lanes: make([]lane, 1)}
}

// show makes buffer readable by others as generation gen. It takes over the
// caller's reference. A copy of an older generation is dropped; show reports
// false, and keeps the reference, if there is a newer one.
func (t *Table) show(id phalanx.ObjectID, gen phalanx.Generation, meta phalanx.Meta, buffer *dataplane.Buffer, origin bool) (*objectCopy, bool) {
	return t.showCopy(&objectCopy{object: id, gen: gen, meta: meta, buffer: buffer, origin: origin})
}

func (t *Table) showCopy(c *objectCopy) (*objectCopy, bool) {
	id, gen := c.object, c.gen
	t.mu.Lock()
	defer t.mu.Unlock()
	if old := t.copies[id]; old != nil {
		if !old.gen.Less(gen) {
			return old, false
		}
		t.dropLocked(old, &dataplane.Ended{Reason: dataplane.Reset, Generation: gen})
	}
	c.over = make(chan struct{})
	t.insert(c)
	return c, true
}

func (t *Table) insert(c *objectCopy) {
	t.budget.Force(copyCost)
	t.count(c)
	t.copies[c.object] = c
	if a := t.arrival[c.object]; a != nil {
		close(a.shown)
		delete(t.arrival, c.object)
	}
}

// keepInline keeps a complete copy of a small object, and retains it for the caller.
// The caller has reserved room for the bytes, which the table takes over. If this
// node has a newer generation by now, what is returned counts as dropped.
func (t *Table) keepInline(info Info, bytes []byte, tag string, pinned bool) *objectCopy {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := &objectCopy{object: info.Object, gen: info.Gen, meta: info.Meta, digest: info.Digest, inline: bytes, lore: lore{tag: tag},
		complete: true, pinned: pinned, over: make(chan struct{})}
	close(c.over)
	old := t.copies[info.Object]
	switch {
	case old != nil && info.Gen.Less(old.gen):
		c.dropped = true
	case old != nil && old.gen == info.Gen && old.is(info.Digest):
		t.finishLocked(old, info.Meta, info.Digest, pinned || old.origin)
		t.budget.Release(int64(len(bytes)))
		c = old
	case old != nil && old.gen == info.Gen: // a part
		t.dropLocked(old, &dataplane.Ended{Reason: dataplane.Gone, Kind: phalanx.ErrAborted})
		t.insert(c)
	case old != nil:
		t.dropLocked(old, &dataplane.Ended{Reason: dataplane.Reset, Generation: info.Gen})
		t.insert(c)
	default:
		t.insert(c)
	}
	t.retainLocked(c)
	return c
}

// supplant makes buffer, which has all bytes, this node's pinned copy in place of a
// part of them: err tells other nodes that read the part, and readers here go on with
// the copy. It reports false if there is a complete copy, or a newer generation.
func (t *Table) supplant(info Info, buffer *dataplane.Buffer, err error) (*objectCopy, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.copies[info.Object]
	switch {
	case old == nil:
	case info.Gen.Less(old.gen), old.gen == info.Gen && old.complete:
		return old, false
	case old.gen == info.Gen:
		t.dropLocked(old, err)
	default:
		t.dropLocked(old, &dataplane.Ended{Reason: dataplane.Reset, Generation: info.Gen})
	}
	c := &objectCopy{object: info.Object, gen: info.Gen, meta: info.Meta, buffer: buffer, over: make(chan struct{})}
	t.insert(c)
	t.finishLocked(c, info.Meta, info.Digest, true)
	return c, true
}

// successor retains the complete copy of the same generation that has taken the place
// of c, which was dropped; nil if there is none.
func (t *Table) successor(c *objectCopy) *objectCopy {
	t.mu.Lock()
	defer t.mu.Unlock()
	next := t.copies[c.object]
	if next == nil || next == c || next.gen != c.gen || !next.complete {
		return nil
	}
	t.retainLocked(next)
	return next
}

// digestOf returns what was told of the bytes of c; zero before it is complete.
func (t *Table) digestOf(c *objectCopy) phalanx.Digest {
	t.mu.Lock()
	defer t.mu.Unlock()
	return c.digest
}

// finish makes c complete, and reports whether it is here at all.
func (t *Table) finish(c *objectCopy, meta phalanx.Meta, digest phalanx.Digest, pinned bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.finishLocked(c, meta, digest, pinned)
}

func (t *Table) finishLocked(c *objectCopy, meta phalanx.Meta, digest phalanx.Digest, pinned bool) bool {
	c.pinned = c.pinned || pinned
	defer t.arrange(c)
	if c.complete || c.dropped {
		return !c.dropped
	}
	c.meta, c.digest, c.complete, c.upstream, c.lease = meta, digest, true, "", 0
	close(c.over)
	return true
}

// unlessWhole calls number and returns what it did, unless this node has all of a
// generation, or makes it. Who puts a copy into the table and reports it after that
// has a greater number then.
func (t *Table) unlessWhole(id phalanx.ObjectID, gen phalanx.Generation, number func() uint64) (num uint64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.copies[id]; c != nil && c.gen == gen && (c.complete || c.origin) {
		return 0, false
	}
	return number(), true
}

// ifWhole calls number and returns what it did, and whether the copy is pinned, if this
// node has all of a generation and asks for no leave to evict it.
func (t *Table) ifWhole(id phalanx.ObjectID, gen phalanx.Generation, number func() uint64) (num uint64, pinned, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.copies[id]
	if c == nil || c.gen != gen || !c.complete || c.asked {
		return 0, false, false
	}
	return number(), c.pinned, true
}

func (t *Table) isDropped(c *objectCopy) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return c.dropped
}

func (t *Table) isPinned(c *objectCopy) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return c.pinned
}

// pinned pins the copy of id that is of generation gen or a newer one, and
// reports whether there is one.
func (t *Table) pinned(id phalanx.ObjectID, gen phalanx.Generation) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.copies[id]
	if c == nil || c.gen.Less(gen) {
		return false
	}
	t.pinLocked(c)
	return true
}

func (t *Table) pinLocked(c *objectCopy) {
	c.pinned = true
	t.arrange(c)
}

// drop forgets c; err tells its readers why. Views keep their bytes.
func (t *Table) drop(c *objectCopy, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dropLocked(c, err)
}

func (t *Table) dropLocked(c *objectCopy, err error) {
	if c.dropped {
		return
	}
	c.dropped = true
	t.arrange(c)
	t.budget.Release(copyCost + int64(len(c.note)))
	if t.copies[c.object] == c {
		delete(t.copies, c.object)
	}
	if !c.complete {
		close(c.over)
	}
	if c.buffer != nil {
		c.buffer.Fail(err)
		c.buffer.Release()
		return
	}
	if c.users == 0 { // else the last user gives them back
		t.budget.Release(int64(len(c.inline)))
	}
}

// dropObject forgets the copy of id if its generation is before, or is, gen, and returns it.
func (t *Table) dropObject(id phalanx.ObjectID, gen phalanx.Generation, err error) *objectCopy {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.copies[id]
	if c == nil || gen.Less(c.gen) {
		return nil
	}
	t.dropLocked(c, err)
	return c
}

// lookup returns the copy of id, or nil.
func (t *Table) lookup(id phalanx.ObjectID) *objectCopy {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.copies[id]
}

// View returns a view of id if this node has a complete copy, else nil.
func (t *Table) View(id phalanx.ObjectID) *View {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.copies[id]
	if c == nil || !c.complete {
		return nil
	}
	return t.viewLocked(c)
}

func (t *Table) viewLocked(c *objectCopy) *View {
	t.retainLocked(c)
	v := &View{info: c.info(), bytes: c.inline, copy: c, table: t}
	if c.buffer != nil {
		v.bytes = c.buffer.Bytes(0, c.meta.Size)
	}
	return v
}

// Whole tells what this node has of id, if that is all of it.
func (t *Table) Whole(id phalanx.ObjectID) (Info, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.copies[id]
	if c == nil || !c.complete {
		return Info{}, false
	}
	return c.info(), true
}

// viewOf returns a view of c, which is complete, or nil if it was dropped.
func (t *Table) viewOf(c *objectCopy) *View {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.dropped {
		return nil
	}
	return t.viewLocked(c)
}

// retain keeps c for a reader, if it was not dropped: it is not evicted until
// release, and its bytes stay, whatever becomes of it.
func (t *Table) retain(c *objectCopy) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.dropped {
		return false
	}
	t.retainLocked(c)
	return true
}

func (t *Table) retainLocked(c *objectCopy) {
	c.users++
	t.arrange(c)
	if c.buffer != nil {
		c.buffer.Retain()
	}
}

// release ends what retain began.
func (t *Table) release(c *objectCopy) {
	t.mu.Lock()
	c.users--
	t.arrange(c)
	last := c.dropped && c.users == 0
	t.mu.Unlock()
	switch {
	case c.buffer != nil:
		c.buffer.Release() // outside of the lock: it may unmap memory
	case last:
		t.budget.Release(int64(len(c.inline)))
	}
}

// arrived returns a channel that is closed when a copy of id is shown. Who does not
// wait for that any more calls leave.
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

// serve counts one more receiver of c and retains its bytes, if it has fewer
// than fanout and was not dropped.
func (t *Table) serve(c *objectCopy, fanout int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.dropped || c.streams >= fanout {
		return false
	}
	c.streams++
	t.arrange(c)
	if c.buffer != nil {
		c.buffer.Retain()
	}
	return true
}

// served ends what serve began and returns how many receivers are left.
func (t *Table) served(c *objectCopy) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.streams--
	t.arrange(c)
	if c.buffer != nil {
		c.buffer.Release()
	}
	return c.streams
}

// reading notes whom c is read from.
func (t *Table) reading(c *objectCopy, upstream phalanx.NodeID, lease uint64, maker phalanx.NodeID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.upstream, c.lease, c.maker = upstream, lease, maker
	c.path.set([]phalanx.NodeID{upstream})
}

// awaits says what is missing of c, and who is to give it.
func (t *Table) awaits(c *objectCopy) (node phalanx.NodeID, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.buffer.Complete() {
		return c.maker, "the object is not final: its creator has not finished"
	}
	return c.upstream, "its bytes have not all arrived"
}

// leased reports whether the copy of id is read under a lease.
func (t *Table) leased(id phalanx.ObjectID, lease uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.copies[id]
	return c != nil && c.lease == lease
}

// isComplete reports whether c is complete, and was not dropped.
func (t *Table) isComplete(c *objectCopy) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return c.complete && !c.dropped
}

// Close drops every copy.
func (t *Table) Close(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.copies {
		t.dropLocked(c, err)
	}
}

// KeepComplete drops every copy that is not complete.
func (t *Table) KeepComplete(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.copies {
		if !c.complete {
			t.dropLocked(c, err)
		}
	}
}
