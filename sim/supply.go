package sim

import (
	"time"

	"github.com/phalanx-go/phalanx/node/copies"
	"github.com/phalanx-go/phalanx/node/put"
	"github.com/phalanx-go/phalanx/protocol/transfer"
)

// supply has all bytes of a Put, on their way into the table.
type supply struct {
	c      *copied
	entry  put.Copy
	copies int // the number of copies to keep
}

// supply keeps all bytes of a Put, or hands them to the fetch that has a part.
func (n *node) supply(s supply) {
	c := s.c
	outcome := n.table.Supply(&c.Copy)
	since := n.creates.Since(c.Object) // after the table has the copy
	switch outcome {
	case copies.Kept:
		if s.entry.Announced(n.client.epoch(c.Object), n.w.shape.inline, since) {
			n.client.report(c.Object, c.Announcement(c.Pinned), nil)
		}
	case copies.Rest:
		s.entry.Epoch = 0
		n.w.met["put supplies a fetch"]++
		n.after(0, func() {
			if f := n.fetches[c.Object]; f != nil {
				f.supplied(s)
			} else {
				n.supply(s)
			}
			n.w.step(n, "supplied")
		})
		return
	case copies.Had:
		n.memory.release(c)
	}
	n.table.KeepCopies(c.Object, c.Gen, s.copies)
	n.table.DropObject(c.Object, since.Deleted, nil)
	n.ownShown(c.Object)
}

// copiesWithin is the longest time in which a fetch copies the missing bytes from a Put.
const copiesWithin = 20 * time.Millisecond

// supplied takes the missing bytes from a Put of the same generation.
func (f *fetcher) supplied(s supply) {
	f.supply = &s
	f.step(transfer.Supplied{Gen: s.c.Gen, Meta: s.c.Meta, Digest: s.c.Digest})
	if f.supply != nil {
		f.supply = nil
		f.n.w.met["fetch does not take what a put supplies"]++
		f.n.supply(s)
	}
}

// takeSupply copies the missing bytes. If there is no room for two copies, it keeps the buffer of
// the Put.
func (f *fetcher) takeSupply() {
	n, s := f.n, *f.supply
	f.supply = nil
	size, part := int64(len(s.c.bytes)), f.buf
	if part.Gen.IsZero() || !n.memory.try(part, max(part.room, size)) {
		n.w.met["put supplants a part"]++
		f.forgetWish() // else the room of the part would go to the wish
		if !n.table.Supplant(&s.c.Copy, nil) {
			n.memory.release(s.c)
			return
		}
		if part.Gen.IsZero() {
			n.memory.release(part)
		}
		f.buf = s.c
	} else {
		n.table.Pin(f.object, part.Gen)
		n.memory.release(s.c)
		part.fill(s.c.bytes)
		n.pump(part)
	}
	n.table.KeepCopies(f.object, f.buf.Gen, s.copies)
	c, digest := f.buf, f.buf.sum
	n.after(drawn(n.w.lag, copiesWithin), func() {
		if f.buf == c { // else the fetch has begun the generation anew, since a part of it had changed
			f.step(transfer.Whole{Gen: c.Gen, Size: size, Digest: digest})
		}
		n.w.step(n, "supplied")
	})
}
