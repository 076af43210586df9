package store

import (
	"github.com/phalanx-go/phalanx/node/fetch"
	"github.com/phalanx-go/phalanx/node/owner"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/transfer"
	"github.com/phalanx-go/phalanx/storenode"
)

// smallBytes is a small object as it comes with the directory's answer.
type smallBytes struct {
	bytes  []byte
	tag    string
	listed uint64 // as directory.Result has it
}

func smallOf(r directory.Result) smallBytes { return smallBytes{r.Inline, r.Tag, r.Listed} }

// inlineRoom tells that there is room for inline bytes, or that there will be
// none.
type inlineRoom struct{ err error }

// takeInline keeps the bytes that came with the directory's answer. If there is no room for
// them now, the fetch waits for room, as for other bytes.
func (f *fetcher) takeInline(e transfer.TakeInline) {
	size, budget := int64(len(f.small.bytes)), f.env.Pool.Budget()
	if f.needs.For(size, size, f.reserved) == fetch.Reserved {
		budget.Release(f.reserved - size)
	} else if f.unreserve(); !budget.TryReserve(size) {
		f.inline.Wait(e)
		self, env := f.self, f.env
		f.awaitRoom(size, func(err error) { env.send(self, inlineRoom{err}) })
		return
	}
	f.reserved = size
	f.keepInline(e)
}

// inlineRoom completes the object.
func (f *fetcher) inlineRoom(err error) {
	f.takeRoom()
	switch e, ok := f.inline.Take(); {
	case !ok:
		f.unreserve()
		return
	case err != nil:
		f.env.reportDrop(f.object, e.Gen)
		f.result = f.env.noSpace(err)
	default:
		f.keepInline(e)
	}
	f.finish()
}

// leftInline ends the fetch if the inline bytes wait for room, and no call waits for them.
func (f *fetcher) leftInline() {
	if gen, gone := f.inline.Left(len(f.known)); gone {
		f.env.reportDrop(f.object, gen)
		f.discard()
	}
}

// keepInline hands the reserved room to the table.
func (f *fetcher) keepInline(e transfer.TakeInline) {
	f.final, f.held = f.env.keepInline(f.arrival, storenode.Info{Object: f.object, Gen: e.Gen, Meta: e.Meta, Digest: e.Digest}, f.small), true
	f.reserved = 0
}

// keepInline enters a copy whose room is reserved, and retains it. It announces a copy that the
// owner may not list.
func (e *Env) keepInline(a *arrival, info storenode.Info, small smallBytes) *objectCopy {
	c := e.Table.keepInline(info, small.bytes, small.tag, false)
	if a.unlisted.Load() || owner.Unlisted(small.listed, e.Directory.Epoch(info.Object)) {
		e.report(info.Object, directory.Announce{Gen: info.Gen, Complete: true, Begun: true})
	}
	return c
}
