package sim

import (
	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/copies"
	"github.com/phalanx-go/phalanx/node/fetch"
	"github.com/phalanx-go/phalanx/node/owner"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/transfer"
)

// takeInline keeps the bytes of the owner's answer. They wait for room as other bytes do.
func (f *fetcher) takeInline(e transfer.TakeInline) {
	n, size := f.n, int64(len(f.bytes))
	if !f.buf.Gen.IsZero() { // the table keeps or drops the part
		f.letGo()
		f.buf = n.copyFor(copies.Copy{Object: f.object})
	}
	if f.needs.For(size, size, f.buf.room) == fetch.Reserved {
		n.memory.resize(f.buf, size)
	}
	if n.memory.try(f.buf, size) {
		f.enter(e)
		return
	}
	n.w.met["inline bytes wait for room"]++
	f.inline.Wait(e)
	n.memory.release(f.buf)
	f.wish = f.wait()(f.buf, size, func(err *phalanx.Error) {
		f.wish = nil
		n.after(0, func() {
			e, ok := f.inline.Take()
			if !ok {
				return
			}
			if err != nil {
				n.reportDrop(f.object, e.Gen)
				f.fail(err)
			} else {
				f.enter(e)
			}
			f.over()
			n.w.step(n, "room for inline bytes")
		})
	})
}

// leftInline ends the fetch if no caller waits for inline bytes any more.
func (f *fetcher) leftInline() {
	if gen, gone := f.inline.Left(len(f.callers)); gone {
		f.n.reportDrop(f.object, gen)
		f.over()
	}
}

// enter makes inline bytes the copy, and announces it if the owner may not list it.
func (f *fetcher) enter(e transfer.TakeInline) {
	n := f.n
	c := n.copyFor(copies.Copy{Object: f.object, Gen: e.Gen, Meta: e.Meta, Digest: e.Digest, Lore: copies.Lore{Tag: f.tag}})
	c.fill(f.bytes)
	c.small, f.entered = true, true
	c.room, f.buf.room = f.buf.room, 0
	kept := copyOf(n.table.Enter(&c.Copy))
	switch {
	case kept != c:
		n.memory.release(c)
	case !c.Dropped:
		n.w.audit.complete(n, c)
	}
	if f.unlisted || owner.Unlisted(f.inlineIn, n.client.epoch(f.object)) {
		n.client.report(f.object, directory.Announce{Gen: e.Gen, Complete: true, Begun: true}, nil)
	} else {
		n.w.met["inline, listed by the answer"]++
	}
	f.answer(kept)
	n.unuse(kept)
}
