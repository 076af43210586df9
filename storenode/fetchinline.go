package storenode

import "github.com/phalanx-go/phalanx/protocol/directory"

// inlineRoom tells that there is room for inline bytes, or that there will be
// none.
type inlineRoom struct{ err error }

// takeInline keeps bytes that came with the directory's answer. If there is no
// room for them now they wait for it, as other bytes do.
func (f *fetch) takeInline(info Info) {
	size := int64(len(f.inline))
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
	self, env, ctx, room := f.self, f.env, f.ctx, f.room
	go func() {
		err := env.Pool.Budget().Reserve(ctx, size)
		if err == nil {
			room.give(size)
		}
		env.send(self, inlineRoom{err})
	}()
}

// inlineRoom completes the object.
func (f *fetch) inlineRoom(err error) {
	if charge, ok := f.room.take(); ok {
		f.unreserve()
		f.reserved = charge
	}
	if f.whole == nil { // everyone went away
		f.unreserve()
		return
	}
	info := *f.whole
	f.whole = nil
	if err != nil {
		f.result = f.env.noSpace(err)
	} else {
		f.keepInline(info)
	}
	f.finish()
}

// keepInline hands the reserved room to the table. The copy is announced: a
// Delete reaches only those that are listed.
func (f *fetch) keepInline(info Info) {
	f.final = f.env.Table.keepInline(info, f.inline, false)
	f.reserved = 0
	f.env.report(f.object, directory.Announce{Gen: info.Gen, Complete: true, Begun: true})
}
