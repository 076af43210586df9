package store

import (
	"context"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/copies"
	nput "github.com/phalanx-go/phalanx/node/put"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/transfer"
	"github.com/phalanx-go/phalanx/storenode"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// supply has all bytes of a Put, which the owner lists as held here, on their way into the
// table. If a fetch has a part of the same bytes, with readers, it takes the rest from the
// supply. The holder of the message has a reference of the buffer.
type supply struct {
	info   storenode.Info
	buffer *dataplane.Buffer
	entry  nput.Copy
	copies int // that the cluster is to keep
}

// keep makes the bytes of a Put this node's complete and pinned copy, or hands them to the
// fetch that has begun one.
func (e *Env) keep(s supply) {
	outcome := e.Table.supply(s.info, s.buffer)
	since := e.meanwhile(s.info.Object) // after the table has the copy
	switch outcome {
	case copies.Kept: // the table has the reference now
		if s.entry.Announced(e.Directory.Epoch(s.info.Object), e.InlineLimit, since) {
			e.report(s.info.Object, directory.Announce{Gen: s.info.Gen, Complete: true, Pinned: true})
		}
	case copies.Rest:
		s.entry.Epoch = 0
		e.send(e.StorePID, s)
		return
	case copies.Had:
		s.buffer.Release()
	}
	e.Table.keepCopies(s.info.Object, s.info.Gen, s.copies)
	e.Table.dropObject(s.info.Object, since.Deleted, errDeletedHere(e.Self))
	e.send(e.StorePID, ownShown{s.info.Object})
}

func (s *Store) supply(c actor.Context, m supply) {
	if a := s.arrival(m.info.Object); a != nil {
		s.tell(c, a, m)
		return
	}
	s.env.keep(m)
}

// supplied takes the rest of the object from a Put, if it is of the same
// generation.
func (f *fetcher) supplied(m supply) {
	f.supply = &m
	f.do(transfer.Supplied{Gen: m.info.Gen, Meta: m.info.Meta, Digest: m.info.Digest})
	if f.supply != nil {
		f.supply = nil
		f.env.keep(m)
	}
}

// takeSupply copies the missing bytes, in a goroutine.
func (f *fetcher) takeSupply() {
	m := *f.supply
	f.supply = nil
	if f.copy == nil { // there was no room for one
		f.putSupply(m)
		return
	}
	c, env, self, ctx := f.copy, f.env, f.self, f.ctx
	c.buffer.Retain()
	f.env.Table.pinAtLeast(f.object, c.Gen)
	f.env.Table.keepCopies(f.object, c.Gen, m.copies)
	if f.growing != nil {
		f.growing()
	}
	f.write(func() {
		defer c.buffer.Release()
		if !m.copyTo(ctx, c.buffer) {
			env.send(self, unsupplied{m})
			return
		}
		digest, _ := c.buffer.Digest()
		m.buffer.Release()
		env.send(self, suppliedAll{c, transfer.Whole{Gen: c.Gen, Size: c.buffer.Size(), Digest: digest}})
	})
}

// suppliedAll tells that a copy has all bytes of a Put.
type suppliedAll struct {
	copy *objectCopy
	transfer.Whole
}

// suppliedAll completes the copy, unless the fetch has begun the generation anew meanwhile: a part of
// it had changed in memory.
func (f *fetcher) suppliedAll(m suppliedAll) {
	if f.copy == m.copy {
		f.do(m.Whole)
	}
}

// unsupplied tells that there is no room for two copies of the bytes of a Put.
type unsupplied struct{ supply }

// putSupply makes the buffer of a Put the copy, in place of a part of the same bytes.
func (f *fetcher) putSupply(m supply) {
	c, ok := f.env.Table.supplant(m.info, m.buffer, &dataplane.Ended{Reason: dataplane.Gone, Kind: phalanx.ErrNoSpace, Node: f.env.Self})
	if !ok {
		m.buffer.Release()
		return
	}
	f.env.Table.keepCopies(f.object, c.Gen, m.copies)
	f.setCopy(c)
	f.do(transfer.Whole{Gen: m.info.Gen, Size: m.info.Meta.Size, Digest: m.info.Digest})
}

// copyTo writes the bytes that b lacks, and reports whether b has all bytes then.
func (s supply) copyTo(ctx context.Context, b *dataplane.Buffer) bool {
	at, size := b.Resume(), s.buffer.Size()
	for at < size {
		if b.Grow(ctx, min(dataplane.PieceSize, size-at)) != nil {
			return false
		}
		n := copy(b.Space(dataplane.PieceSize), s.buffer.Bytes(at, size))
		b.Commit(n)
		at += int64(n)
	}
	return b.Finish(size) == nil
}

// write runs do in a goroutine, after the do of the write before: a buffer has one writer at
// a time.
func (f *fetcher) write(do func()) {
	before, done := f.writing, make(chan struct{})
	f.writing = done
	go func() {
		defer close(done)
		if before != nil {
			<-before
		}
		do()
	}()
}
