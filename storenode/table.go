package storenode

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// objectCopy is what this node has of one generation of an object. The table's
// lock guards it, except for what is atomic; its bytes are in buffer, or inline.
type objectCopy struct {
	object phalanx.ObjectID
	gen    phalanx.Generation
	buffer *dataplane.Buffer // nil if the bytes are inline
	inline []byte
	tag    string        // of inline bytes: the digest of the Reduce that has made them, if it is known
	over   chan struct{} // closed once the copy is complete, or dropped

	meta     phalanx.Meta
	digest   phalanx.Digest // once complete
	complete bool
	pinned   bool
	origin   bool
	ring     bool // made here, but the owner is not told of it before it is whole
	begun    bool // has its first piece
	dropped  bool
	lease    uint64
	upstream phalanx.NodeID
	maker    phalanx.NodeID // of what comes from upstream, if that is known
	streams  int            // receivers that read from it
	used     uint64         // the table's count of uses, for eviction

	viewers atomic.Int32
	again   atomic.Bool // announced since leave to evict it was asked for
	path    upstreams
}

// copyCost is what a copy takes besides its bytes: it, its buffer and the map's
// share, as measured with a hundred thousand of 100 bytes. It cannot be refused,
// since the bytes are here already.
const copyCost = 700

// info describes a complete copy.
func (c *objectCopy) info() Info {
	return Info{Object: c.object, Gen: c.gen, Meta: c.meta, Digest: c.digest}
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
}

// awaited is an object of which somebody waits for a copy to be shown. The last who
// leaves takes it off the table: it may never be shown.
type awaited struct {
	shown   chan struct{} // closed then
	waiting int
}

// NewTable returns an empty table.
func NewTable(budget *dataplane.Budget) *Table {
	return &Table{budget: budget, copies: map[phalanx.ObjectID]*objectCopy{}, arrival: map[phalanx.ObjectID]*awaited{}}
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
	t.uses++
	c.used = t.uses
	t.budget.Force(copyCost)
	t.copies[c.object] = c
	if a := t.arrival[c.object]; a != nil {
		close(a.shown)
		delete(t.arrival, c.object)
	}
}

// keepInline keeps a complete copy of a small object. The caller has reserved
// room for the bytes, which the table takes over.
func (t *Table) keepInline(info Info, bytes []byte, tag string, pinned bool) *objectCopy {
	t.mu.Lock()
	defer t.mu.Unlock()
	if old := t.copies[info.Object]; old != nil {
		if !old.gen.Less(info.Gen) {
			old.pinned = old.pinned || pinned
			t.budget.Release(int64(len(bytes)))
			return old
		}
		t.dropLocked(old, &dataplane.Ended{Reason: dataplane.Reset, Generation: info.Gen})
	}
	c := &objectCopy{object: info.Object, gen: info.Gen, meta: info.Meta, digest: info.Digest, inline: bytes, tag: tag,
		complete: true, begun: true, pinned: pinned, over: make(chan struct{})}
	close(c.over)
	t.insert(c)
	return c
}

// finish makes c complete, and reports whether it is here at all.
func (t *Table) finish(c *objectCopy, meta phalanx.Meta, digest phalanx.Digest, pinned bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.pinned = c.pinned || pinned
	if c.complete || c.dropped {
		return !c.dropped
	}
	c.meta, c.digest, c.complete, c.begun, c.upstream, c.lease = meta, digest, true, true, "", 0
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
	c.pinned = true
	return true
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
	t.budget.Release(copyCost)
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
	t.budget.Release(int64(len(c.inline)))
}

// evict drops c, unless it was pinned since leave to evict it was asked for.
func (t *Table) evict(c *objectCopy, err error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.pinned && !c.dropped {
		return false
	}
	t.dropLocked(c, err)
	return true
}

// dropObject forgets the copy of id if its generation is before, or is, gen.
func (t *Table) dropObject(id phalanx.ObjectID, gen phalanx.Generation, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.copies[id]; c != nil && !gen.Less(c.gen) {
		t.dropLocked(c, err)
	}
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
	t.uses++
	c.used = t.uses
	c.viewers.Add(1)
	v := &View{info: c.info(), bytes: c.inline, copy: c}
	if c.buffer != nil {
		c.buffer.Retain()
		v.buffer, v.bytes = c.buffer, c.buffer.Bytes(0, c.meta.Size)
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

// retain keeps the bytes of c for a reader, if it was not dropped.
func (t *Table) retain(c *objectCopy) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.dropped {
		return false
	}
	t.uses++
	c.used = t.uses
	c.viewers.Add(1)
	if c.buffer != nil {
		c.buffer.Retain()
	}
	return true
}

// release ends what retain began.
func (t *Table) release(c *objectCopy) {
	c.viewers.Add(-1)
	if c.buffer != nil {
		c.buffer.Release()
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
	if c.dropped || c.streams >= fanout || c.buffer == nil {
		return false
	}
	c.streams++
	c.buffer.Retain()
	return true
}

// served ends what serve began and returns how many receivers are left.
func (t *Table) served(c *objectCopy) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.streams--
	c.buffer.Release()
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
		return c.maker, "it is not final: its creator has not finished"
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

// begun notes that c has its first piece.
func (t *Table) begun(c *objectCopy) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.begun = true
}

// isComplete reports whether c is complete, and was not dropped.
func (t *Table) isComplete(c *objectCopy) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return c.complete && !c.dropped
}

// Holdings returns what this node has of each shard that is marked in of, which has
// all of them, by object: for their new owners.
func (t *Table) Holdings(of []bool) [][]directory.Holding {
	out := make([][]directory.Holding, len(of))
	t.mu.Lock()
	for id, c := range t.copies {
		if i := id.Shard(len(of)); of[i] {
			out[i] = append(out[i], directory.Holding{Object: id, Gen: c.gen, Meta: c.meta, Digest: c.digest, Complete: c.complete,
				Pinned: c.pinned, Origin: c.origin && !c.complete && !c.ring, Begun: c.begun, Lease: c.lease, Upstream: c.upstream})
		}
	}
	t.mu.Unlock()
	for _, list := range out {
		slices.SortFunc(list, func(a, b directory.Holding) int { return cmp.Compare(a.Object, b.Object) })
	}
	return out
}

// Everything returns what this node has of all shards.
func (t *Table) Everything() []directory.Holding { return t.Holdings([]bool{true})[0] }

// victim returns the complete copy that was used longest ago of those that may
// be evicted, leaving out those in not.
func (t *Table) victim(not map[phalanx.ObjectID]bool) *objectCopy {
	t.mu.Lock()
	defer t.mu.Unlock()
	var best *objectCopy
	for _, c := range t.copies {
		if !c.complete || c.pinned || c.streams > 0 || c.viewers.Load() > 0 || not[c.object] {
			continue
		}
		if best == nil || c.used < best.used {
			best = c
		}
	}
	return best
}

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

// Complete returns the ids of the complete copies, in order.
func (t *Table) Complete() []phalanx.ObjectID {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []phalanx.ObjectID
	for id, c := range t.copies {
		if c.complete {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}
