package storenode

import (
	"github.com/phalanx-go/phalanx/node/owner"
	"github.com/phalanx-go/phalanx/protocol/directory"
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

// takeInline keeps bytes that came with the directory's answer. If there is no
// room for them now they wait for it, as other bytes do.
func (f *fetcher) takeInline(info Info) {
	size := int64(len(f.small.bytes))
	if f.reserved >= size {
		f.env.Pool.Budget().Release(f.reserved - size)
		f.reserved = size
		f.keepInline(info)
		return
	}
	f.unreserve()
	if f.env.Pool.Budget().TryReserve(size) {
		f.reserved = size
		f.keepInline(info)
		return
	}
	f.whole, f.lacks = &info, size
	self, env, ctx, room, wait := f.self, f.env, f.ctx, f.room, f.wait()
	go func() {
		err := wait(ctx, size)
		if err == nil {
			room.give(size)
		}
		env.send(self, inlineRoom{err})
	}()
}

// inlineRoom completes the object.
func (f *fetcher) inlineRoom(err error) {
	if charge, ok := f.room.take(); ok {
		f.unreserve()
		f.reserved = charge
	}
	if f.whole == nil { // everyone went away
		f.unreserve()
		return
	}
	info := *f.whole
	if err != nil {
		f.giveUpInline()
		f.result = f.env.noSpace(err)
	} else {
		f.whole = nil
		f.keepInline(info)
	}
	f.finish()
}

// giveUpInline forgets the bytes that room was waited for. Their owner may list them.
func (f *fetcher) giveUpInline() {
	f.env.reportDrop(f.object, f.whole.Gen) // a Put may have brought the same bytes
	f.whole = nil
}

// keepInline hands the reserved room to the table.
func (f *fetcher) keepInline(info Info) {
	f.final, f.held = f.env.keepInline(info, f.small), true
	f.reserved = 0
}

// keepInline enters a copy whose room is reserved, and retains it. It is announced if its owner may
// not list it.
func (e *Env) keepInline(info Info, small smallBytes) *objectCopy {
	c := e.Table.keepInline(info, small.bytes, small.tag, false)
	if owner.Unlisted(small.listed, e.Directory.Epoch(info.Object)) {
		e.report(info.Object, directory.Announce{Gen: info.Gen, Complete: true, Begun: true})
	}
	return c
}
