package copies

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// Table has the copies of a node, at most one of each object, and decides which generation it
// keeps. It is not safe for concurrent use.
type Table struct {
	copies    map[phalanx.ObjectID]*Copy
	uses      uint64
	lanes     []lane // by directory shard
	evictions uint64
}

// NewTable returns an empty table.
func NewTable() *Table {
	return &Table{copies: map[phalanx.ObjectID]*Copy{}, lanes: make([]lane, 1)}
}

// Of returns the copy of an object, or nil.
func (t *Table) Of(id phalanx.ObjectID) *Copy { return t.copies[id] }

// All returns every copy, in no order.
func (t *Table) All() iter.Seq[*Copy] { return maps.Values(t.copies) }

// Len returns the number of copies.
func (t *Table) Len() int { return len(t.copies) }

// Making returns the objects that this node makes and that are not final yet, in order, without
// the copies of Puts, which are in order as well.
func (t *Table) Making(puts []phalanx.ObjectID) []phalanx.ObjectID {
	var out []phalanx.ObjectID
	for c := range t.All() {
		if _, put := slices.BinarySearch(puts, c.Object); !put && !c.Complete && (c.Origin || c.Ring) {
			out = append(out, c.Object)
		}
	}
	slices.Sort(out)
	return out
}

// Show lets others read c, a part. It drops a copy of an older generation; if the table has a copy
// that is not older, Show returns that, and false.
func (t *Table) Show(c *Copy) (now *Copy, ok bool) {
	if old := t.copies[c.Object]; old != nil {
		if !old.Gen.Less(c.Gen) {
			return old, false
		}
		t.Drop(old, &Ended{Reset, c.Gen})
	}
	t.insert(c)
	return c, true
}

func (t *Table) insert(c *Copy) {
	t.copies[c.Object] = c
	c.Bytes.Shown()
	c.Bytes.Counts()
}

// Enter keeps c, all bytes of a small object with their digest, and returns the copy for waiting
// callers: c, or the table's copy of the same bytes. If this node has a newer generation by now,
// c counts as dropped. The returned copy is in use until Unuse.
func (t *Table) Enter(c *Copy) *Copy {
	kept := t.enter(c)
	kept.users++
	t.arrange(kept)
	return kept
}

func (t *Table) enter(c *Copy) *Copy {
	c.Complete = true
	switch old := t.copies[c.Object]; {
	case old != nil && c.Gen.Less(old.Gen):
		c.Dropped = true
		return c
	case old != nil && old.Gen == c.Gen && !old.changed && old.is(c.Digest):
		t.Finish(old, c.Meta, c.Digest, c.Pinned || old.Origin)
		return old
	case old != nil && old.Gen == c.Gen: // a part
		t.Drop(old, &Ended{Why: Aborted})
	case old != nil:
		t.Drop(old, &Ended{Reset, c.Gen})
	}
	t.insert(c)
	return c
}

// Supplied is the outcome of a Supply.
type Supplied uint8

// The outcomes.
const (
	Kept Supplied = iota // they are the copy, pinned
	Rest                 // a fetch has a part of them, which others read: it takes the rest from the Put
	Had                  // the table had a copy of them, or of a newer generation, and has pinned it
)

// Supply keeps c, all bytes of a Put whose owner lists them as held here.
func (t *Table) Supply(c *Copy) Supplied {
	old, ok := t.Show(c)
	switch {
	case ok:
		t.Finish(c, c.Meta, c.Digest, true)
		return Kept
	case old.Gen == c.Gen && !old.Origin && !old.Complete:
		return Rest
	}
	t.pin(old)
	return Had
}

// Supplant makes c, all bytes of a Put, the node's pinned copy in place of a part of them. Nodes
// that read the part get err, and readers here go on with c. It reports false if the table has a
// complete copy, or a newer generation.
func (t *Table) Supplant(c *Copy, err error) bool {
	switch old := t.copies[c.Object]; {
	case old == nil:
	case c.Gen.Less(old.Gen), old.Gen == c.Gen && old.Complete:
		return false
	case old.Gen == c.Gen:
		t.Drop(old, err)
	default:
		t.Drop(old, &Ended{Reset, c.Gen})
	}
	t.insert(c)
	t.Finish(c, c.Meta, c.Digest, true)
	return true
}

// Finish makes c complete, and reports whether it is still in the table.
func (t *Table) Finish(c *Copy, meta phalanx.Meta, digest phalanx.Digest, pinned bool) bool {
	c.Pinned = c.Pinned || pinned
	if !c.Complete && !c.Dropped {
		c.Meta, c.Digest, c.Complete, c.Upstream, c.Lease = meta, digest, true, "", 0
		c.Bytes.Whole()
	}
	t.arrange(c)
	return !c.Dropped
}

// Settles returns the copy that becomes complete because the object is final: this node has made
// all bytes of gen, which have the digest. It returns nil if there is none, or if the copy is complete:
// announced again while the node has leave to evict it, it would stay on the owner's list.
func (t *Table) Settles(id phalanx.ObjectID, gen phalanx.Generation, digest phalanx.Digest) *Copy {
	if c := t.copies[id]; c != nil && c.Gen == gen && c.Origin && !c.Complete && c.is(digest) {
		return c
	}
	return nil
}

// Pin pins the copy of id if its generation is gen or newer, and reports whether there is such
// a copy.
func (t *Table) Pin(id phalanx.ObjectID, gen phalanx.Generation) bool {
	c := t.copies[id]
	if c == nil || c.Gen.Less(gen) {
		return false
	}
	t.pin(c)
	return true
}

func (t *Table) pin(c *Copy) {
	c.Pinned = true
	t.arrange(c)
}

// Want pins c if a call wants its generation pinned, unless the node leaves: the leaving node
// may have looked at its pinned copies for the last time.
func (t *Table) Want(c *Copy, gen phalanx.Generation, leaves bool) {
	if gen == c.Gen && !leaves {
		t.pin(c)
	}
}

// Drop forgets c; false if it was dropped before.
func (t *Table) Drop(c *Copy, err error) bool {
	if c.Dropped {
		return false
	}
	c.Dropped = true
	t.arrange(c)
	if t.copies[c.Object] == c {
		delete(t.copies, c.Object)
	}
	c.Bytes.Gone(err)
	return true
}

// DropPart forgets c unless it is complete, and reports whether it was here. A complete copy stays,
// also if its maker fails: its owner counts on it.
func (t *Table) DropPart(c *Copy, err error) bool { return !c.Complete && t.Drop(c, err) }

// DropObject forgets the copy of id if its generation is gen or older, and returns it.
func (t *Table) DropObject(id phalanx.ObjectID, gen phalanx.Generation, err error) *Copy {
	c := t.copies[id]
	if c == nil || gen.Less(c.Gen) {
		return nil
	}
	t.Drop(c, err)
	return c
}

// DropParts forgets the copies that are not complete.
func (t *Table) DropParts(err error) {
	for _, c := range t.copies {
		t.DropPart(c, err)
	}
}

// Use keeps c from eviction for one more reader of this node, until Unuse; false if it was
// dropped.
func (t *Table) Use(c *Copy) bool {
	if c.Dropped {
		return false
	}
	c.users++
	t.arrange(c)
	return true
}

// Unuse ends a Use, and reports whether c was dropped and this was the last reader of this
// node.
func (t *Table) Unuse(c *Copy) (last bool) {
	c.users--
	t.arrange(c)
	return c.Dropped && c.users == 0
}

// Serve counts one more receiver of c; false if c has fanout receivers or was dropped.
func (t *Table) Serve(c *Copy, fanout int) bool {
	if c.Dropped || c.streams >= fanout {
		return false
	}
	c.streams++
	t.arrange(c)
	return true
}

// Served ends a Serve and returns how many receivers are left.
func (t *Table) Served(c *Copy) int {
	c.streams--
	t.arrange(c)
	return c.streams
}

// Reading notes the node that c is read from.
func (t *Table) Reading(c *Copy, upstream phalanx.NodeID, lease uint64, maker phalanx.NodeID) {
	c.Upstream, c.Lease, c.Maker = upstream, lease, maker
}

// Leased reports whether this node reads the copy of id under lease.
func (t *Table) Leased(id phalanx.ObjectID, lease uint64) bool {
	c := t.copies[id]
	return c != nil && c.Lease == lease
}

// Whole reports whether this node has all of a generation, or makes it: then it does not tell
// the owner that a part of it is gone.
func (t *Table) Whole(id phalanx.ObjectID, gen phalanx.Generation) bool {
	c := t.copies[id]
	return c != nil && c.Gen == gen && (c.Complete || c.Origin)
}

// Sure returns the complete copy of a generation, or nil if there is none or the node is asking
// for leave to evict it.
func (t *Table) Sure(id phalanx.ObjectID, gen phalanx.Generation) *Copy {
	c := t.copies[id]
	if c == nil || c.Gen != gen || !c.Complete || c.asked {
		return nil
	}
	return c
}

// Successor returns the complete copy of the same generation that has replaced c; nil if there
// is none.
func (t *Table) Successor(c *Copy) *Copy {
	next := t.copies[c.Object]
	if next == nil || next == c || next.Gen != c.Gen || !next.Complete {
		return nil
	}
	return next
}

// Standing reports whether c is present, dropped or replaced.
func (t *Table) Standing(c *Copy) Standing {
	switch t.copies[c.Object] {
	case c:
		return Present
	case nil:
		return Dropped
	}
	return Replaced
}

// KeepCopies notes how many copies of a generation the cluster is to keep.
func (t *Table) KeepCopies(id phalanx.ObjectID, gen phalanx.Generation, copies int) {
	if c := t.copies[id]; c != nil && c.Gen == gen && copies > 1 {
		c.Copies = max(c.Copies, copies)
	}
}

// maxNote bounds the answer of a Reduce that is kept beside a copy: it has to fit into
// a message. A longer one is lost with the shard.
const maxNote = 128 << 10

// Learn notes the Reduce and its answer from the owner's answer r to a report of a complete copy of
// generation gen, and returns by how many bytes the copy has grown.
func (t *Table) Learn(id phalanx.ObjectID, gen phalanx.Generation, r directory.Result) int {
	c := t.copies[id]
	if c == nil || c.Gen != gen || !Tells(gen, r) {
		return 0
	}
	c.Tag = r.Tag
	if c.Pinned && c.Note == nil && len(r.Note) <= maxNote {
		c.Note = r.Note
		return len(c.Note)
	}
	return 0
}

// Holdings returns this node's copies by shard, in no order, for new owners: only of shards that
// are marked in of, which has an entry for each shard.
func (t *Table) Holdings(of []bool) [][]directory.Holding {
	out := make([][]directory.Holding, len(of))
	for id, c := range t.copies {
		if i := id.Shard(len(of)); of[i] {
			out[i] = append(out[i], c.holding())
		}
	}
	return out
}

// Sort sorts the result of Holdings by object. It needs no lock, as it takes long with many
// copies.
func Sort(holdings [][]directory.Holding) {
	for _, list := range holdings {
		slices.SortFunc(list, func(a, b directory.Holding) int { return cmp.Compare(a.Object, b.Object) })
	}
}
