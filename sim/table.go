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
)

// copied is a buffer with the bytes, or some of them, of one object.
type copied struct {
	object   phalanx.ObjectID
	gen      phalanx.Generation
	meta     phalanx.Meta
	digest   phalanx.Digest // if all bytes are there
	bytes    []byte         // the prefix that is there
	whole    bool           // every byte is there
	complete bool           // and it is final
	pinned   bool
	copies   int    // that are to be kept, as far as is known
	tag      string // of the reduce that has made it, as far as is known
	note     []byte // its answer, if pinned
	origin   bool
	room     int64 // reserved
	used     time.Duration
	readers  int                             // callers that look at it
	evicting bool                            // leave to evict it is asked for
	refused  bool                            // its owner wants it to stay, since the evictor looked last
	evicted  bool                            // it was dropped with that leave
	again    bool                            // announced since it was asked for leave to evict it
	gone     bool                            // was dropped
	listed   bool                            // an owner has it in its list
	born     time.Duration                   // when the life began that has kept it; 0: in the one that got it
	path     []phalanx.NodeID                // from here to the origin, as last heard
	begun    bool                            // Origin: it has its first piece
	upstream func() (phalanx.NodeID, uint64) // the sender and the lease, if it is arriving
}

func digestOf(b []byte) phalanx.Digest { return xxh3.Hash128(b).Bytes() }

// sortedObjects returns the keys of m in order: map order must not show.
func sortedObjects[V any](m map[phalanx.ObjectID]V) []phalanx.ObjectID {
	if len(m) == 0 { // most of the time, in each tick
		return nil
	}
	return slices.Sorted(maps.Keys(m))
}

// copies returns every buffer for object that others may read, the best first.
func (n *node) copies(object phalanx.ObjectID) []*copied {
	var all []*copied
	if c := n.table[object]; c != nil {
		all = append(all, c)
	}
	for _, c := range n.creates {
		if c.object == object && !c.buf.gen.IsZero() && !c.buf.gone && !c.core.Over() {
			all = append(all, c.buf)
		}
	}
	for _, m := range n.makers {
		if m.object == object && m.buf != nil && !m.buf.gen.IsZero() && !m.buf.gone && !m.over {
			all = append(all, m.buf)
		}
	}
	if c := n.reduces.target(object); c != nil {
		all = append(all, c)
	}
	if f := n.fetches[object]; f != nil && f.buf != nil {
		all = append(all, f.buf)
	}
	slices.SortStableFunc(all, func(a, b *copied) int {
		order := b.gen.Compare(a.gen)
		return cmp.Or(order, cmp.Compare(len(b.bytes), len(a.bytes)))
	})
	return all
}

// holdings lists what this node has of a shard's objects.
func (n *node) holdings(shard int) []directory.Holding {
	objects := map[phalanx.ObjectID]bool{}
	for id := range n.table {
		objects[id] = true
	}
	for id := range n.fetches {
		objects[id] = true
	}
	for _, c := range n.creates {
		objects[c.object] = true
	}
	for _, m := range n.makers {
		objects[m.object] = true
	}
	n.reduces.objects(objects)
	var all []directory.Holding
	for _, id := range sortedObjects(objects) {
		if id.Shard(n.w.shape.shards) != shard {
			continue
		}
		cs := n.copies(id)
		if len(cs) == 0 {
			continue
		}
		c := cs[0]
		if c.gen.IsZero() {
			continue
		}
		h := directory.Holding{Object: id, Gen: c.gen, Meta: c.meta, Complete: c.complete, Pinned: c.pinned, Origin: c.origin,
			Begun: len(c.bytes) > 0 || c.whole, Copies: c.copies, Tag: c.tag, Note: c.note}
		if c.complete {
			h.Digest = c.digest
		}
		if c.upstream != nil {
			h.Upstream, h.Lease = c.upstream()
		}
		all = append(all, h)
	}
	return all
}

// check looks at the bytes of the own copy, and tells their digest.
func (n *node) check(p directory.Push) {
	n.w.met["copy checked after an accusation"]++
	c := directory.Checked{Gen: p.Gen}
	for _, t := range n.copies(p.Object) {
		if t.gen == p.Gen && t.whole {
			c.Digest = digestOf(t.bytes)
			break
		}
	}
	n.client.ask(n.client.numbers(), p.Object, c, nil)
}

func (n *node) announceComplete(c *copied) {
	n.client.report(c.object, directory.Announce{Gen: c.gen, Complete: true, Pinned: c.pinned, Begun: true},
		func(_ phalanx.NodeID, r directory.Result) { n.listed(c, r) })
}

// listed looks at the answer to an announcement of a complete copy.
func (n *node) listed(c *copied, r directory.Result) {
	if n.table[c.object] != c {
		return
	}
	if copies.Tells(c.gen, r) {
		if c.tag = r.Tag; c.pinned && c.note == nil {
			c.note = r.Note
		}
	}
	if copies.Answered(c.gen, r) != copies.Stays {
		n.drop(c)
	}
}

// keep puts a complete copy into the table. If there is one already its room is
// given back.
func (n *node) keep(c *copied) {
	c.complete, c.whole = true, true
	c.used = n.w.now
	n.memory.resize(c, int64(len(c.bytes)))
	n.w.audit.complete(n, c)
	if old := n.table[c.object]; old != nil && old != c {
		if old.gen.Compare(c.gen) > 0 {
			n.drop(c)
			return
		}
		if old.gen == c.gen {
			c.pinned, c.copies = c.pinned || old.pinned, max(c.copies, old.copies)
		}
		old.gone = true
		n.memory.release(old)
		n.switchStreams(old, c)
	}
	n.table[c.object] = c
	n.reduces.superseded(c)
	n.pump(c)
	if f := n.fetches[c.object]; f != nil && f.buf != c {
		n.switchStreams(f.buf, c) // nobody else may have the rest of what they read
		f.served(c)
		f.downstream()
	}
}

// drop forgets a copy; whoever reads it is told.
func (n *node) drop(c *copied) {
	c.gone = true
	if n.table[c.object] == c {
		delete(n.table, c.object)
	}
	n.memory.release(c)
	n.cutStreams(c)
	n.reduces.moved(c.object)
}
