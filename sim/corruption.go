package sim

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/copies"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/transfer"
)

// The memory of a node can change (specification 3.4). Callers on that node read what is there;
// every other node finds out, and the copy goes.

// corrupting is how many runs there are for one in which memory changes.
const corrupting = 5

// corrupts flips a bit of a copy in memory, or of the next part that others read. Another node may
// read the copy then.
func (w *world) corrupts(r *rand.Rand) string {
	if kind := r.IntN(3); kind < 2 {
		return w.corruptOne(r, func(c *copied) bool { return kind == 0 || c.small })
	}
	l, until := w.doing, w.now+partComes
	var look func()
	look = func() {
		what := w.corruptOne(r, func(c *copied) bool { return !c.Complete && c.Streams() > 0 })
		if l.what += what; what == "" && w.now < until && !w.calmed {
			w.after(time.Millisecond, look)
		}
	}
	w.after(0, look)
	return "the next part that others read changes: "
}

// partComes is how long a fault waits for a part that others read.
const partComes = time.Second

// corruptOne flips a bit of a copy of some kind, and describes that; "": there is no such copy.
func (w *world) corruptOne(r *rand.Rand, is func(*copied) bool) string {
	var able []*copied
	for _, n := range w.alive() {
		for _, id := range w.objects() {
			if c := n.of(id); c != nil && c.corruptible() && is(c) {
				able = append(able, c)
			}
		}
	}
	if len(able) == 0 {
		return ""
	}
	c := able[r.IntN(len(able))]
	w.corrupt(c, r.IntN(len(c.bytes)))
	what := fmt.Sprintf("byte %d of %s@%v changes at %s", c.flipped-1, c.Object, c.Gen, c.n.id)
	if n := w.joined(r); n != nil && n.of(c.Object) == nil {
		w.bound(w.get(n, c.Object, true), patience, phalanx.ErrDeadline)
		what += fmt.Sprintf(", and %s gets it", n.id)
	}
	return what
}

// corruptible reports whether memory may change under a copy. The sum of a source that has changed
// is wrong, and no node could know; what a Reduce makes is read as it is made.
func (c *copied) corruptible() bool {
	made := c.Origin && !c.Complete && !slices.ContainsFunc(c.n.creates.Of(c.Object), func(cr *create) bool { return cr.buf == c })
	return c.Object[0] == 'o' && len(c.bytes) > 0 && c.flipped == 0 && !made && !c.n.host.hung
}

func (w *world) corrupt(c *copied, at int) {
	switch {
	case c.small:
		w.met["fault: inline bytes change in memory"]++
	case c.Complete:
		w.met["fault: a copy changes in memory"]++
	case c.Origin:
		w.met["fault: the part of a Put changes in memory"]++
	default:
		w.met["fault: a part changes in memory"]++
	}
	c.bytes = slices.Clone(c.bytes) // others have the same slice
	c.bytes[at] ^= 1
	c.flipped = at + 1
	w.changed = append(w.changed, c)
}

// checked returns the bytes lo to hi as they were when they were checked or made.
func (c *copied) checked(lo, hi int) []byte {
	b := c.bytes[lo:hi]
	if at := c.flipped - 1; at >= lo && at < hi {
		b = slices.Clone(b)
		b[at-lo] ^= 1
	}
	return b
}

// hasChanged reports whether memory has changed between lo and hi.
func (c *copied) hasChanged(lo, hi int) bool { return c.flipped > lo && c.flipped <= hi }

// hasChanged reports whether memory has changed under a copy of an object.
func (w *world) hasChanged(id phalanx.ObjectID) bool {
	return slices.ContainsFunc(w.changed, func(c *copied) bool { return c.Object == id })
}

// changedHere reports whether a call has ended with a copy of its own node that has changed.
func (w *world) changedHere(c *call) bool {
	return slices.ContainsFunc(w.changed, func(x *copied) bool {
		return x.n.host == c.node.host && x.Object == c.object && x.Gen == c.gen && bytes.Equal(x.bytes, c.bytes)
	})
}

// foundBad checks (3): a node of which a receiver asks a bad piece again looks at it, and drops the copy.
func (f *fetcher) foundBad(p piece) {
	w := f.n.w
	if w.calmed && p.bad != nil && f.bad == p.bad { // else what the receiver said may have been lost
		w.fail("(3) %s gets a piece of %s that has changed at %s, and gets it again", f.n.id, f.object, p.bad.n.id)
	}
	if f.bad = nil; w.calmed {
		f.bad = p.bad
	}
}

// corrupted gives up a copy that this node has found changed.
func (n *node) corrupted(c *copied) {
	switch n.table.Corrupted(&c.Copy, nil) {
	case copies.Restarts:
		n.w.met["part that has changed in memory starts over"]++
		if f := n.fetches[c.Object]; f != nil {
			f.step(transfer.Corrupted{Gen: c.Gen})
		}
		for _, cr := range n.creates.Of(c.Object) {
			cr.call.excused = true
			cr.leave(errorf(phalanx.ErrCorrupt, c.Object, "its bytes in memory have changed"))
		}
	case copies.Removed:
		n.w.met["copy that has changed in memory is dropped"]++
		n.reportDrop(c.Object, c.Gen)
	}
}

// dropChanged drops a copy of this node's own making, which is complete now, if it has found before
// that the bytes had changed.
func (n *node) dropChanged(c *copied) {
	if n.table.DropChanged(&c.Copy, nil) {
		n.w.met["copy that had changed in memory is dropped as it is complete"]++
		n.reportDrop(c.Object, c.Gen)
	}
}

// check tells the owner the digest of this node's bytes.
func (n *node) check(p directory.Push) {
	n.w.met["copy checked after an accusation"]++
	found := directory.Checked{Gen: p.Gen}
	if c := n.of(p.Object); n.has(p.Object, p.Gen) {
		var corrupted bool
		found.Digest, corrupted = copies.Finding(c.sum, digestOf(c.bytes), func() bool { return false })
		if corrupted {
			n.w.met["check finds that a copy has changed in memory"]++
			n.corrupted(c)
		}
	}
	n.client.ask(n.client.numbers(), p.Object, found, nil)
}
