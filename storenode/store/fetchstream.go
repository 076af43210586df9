package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/fetch"
	"github.com/phalanx-go/phalanx/node/pace"
	"github.com/phalanx-go/phalanx/protocol/transfer"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// openStream makes the buffer of the generation, unless it is there, and reads
// into it from its watermark on. Reading runs beside the actor.
func (f *fetcher) openStream(o transfer.Open) {
	if f.copy == nil {
		if err := f.makeCopy(o); err != nil {
			f.noCopy(o, err)
			return
		}
	}
	f.opening = slices.DeleteFunc(f.opening, f.open)
	f.probe.Begin(f.env.Now())
	c := f.copy
	f.env.Table.reading(c, o.Sender, o.Lease, f.core.Origin())
	c.buffer.Retain()
	ctx, cancel := context.WithCancel(f.ctx)
	f.stream, f.streamID = cancel, o.Stream
	f.write(func() { f.env.receive(ctx, f.self, c, o) })
}

// errFull says that the reserved room of the object is spent.
var errFull = errors.New("the object does not fit under the memory cap")

// noCopy gives the lease back.
func (f *fetcher) noCopy(o transfer.Open, err error) {
	switch {
	case errors.Is(err, errFull): // wait for room again
		f.needs.Spent(dataplane.Charge(o.Meta.Size))
		f.do(transfer.Ended{Stream: o.Stream, Why: transfer.Full, Gen: o.Gen})
	case errors.Is(err, errOwn):
		f.do(transfer.Ended{Stream: o.Stream, Why: transfer.Superseded, Gen: o.Gen, Text: err.Error()})
	default:
		f.do(transfer.Ended{Stream: o.Stream, Why: transfer.Full, Gen: o.Gen})
		f.do(transfer.NoRoom{Err: f.env.noSpace(err)})
	}
}

// errOwn says that this node has another copy of the object: the callers of the fetch will
// get that.
var errOwn = errors.New("this node makes the object itself")

func (f *fetcher) makeCopy(o transfer.Open) error {
	var buf *dataplane.Buffer
	var err error
	charge := dataplane.Charge(o.Meta.Size)
	switch f.needs.For(o.Meta.Size, charge, f.reserved) {
	case fetch.Grows:
		f.unreserve()
		buf, err = f.env.Pool.NewBuffer(f.ctx, o.Meta.Size)
	case fetch.Reserved:
		f.env.Pool.Budget().Release(f.reserved - charge)
		f.reserved = 0
		buf, err = f.env.Pool.NewBufferReserved(o.Meta.Size)
	case fetch.Tries:
		buf = f.env.Pool.TryBuffer(o.Meta.Size)
		if buf == nil {
			err = errFull
		}
	}
	if err != nil {
		return err
	}
	defer buf.Release()
	buf.Retain() // the table's
	c, ok := f.env.Table.show(f.object, o.Gen, o.Meta, buf, false)
	if !ok {
		buf.Release()
		return errOwn
	}
	f.setCopy(c)
	return nil
}

func (f *fetcher) closeStream(id uint64) {
	if f.stream != nil && f.streamID == id {
		f.stream()
		f.stream = nil
	}
}

// receive runs one stream into c's buffer, behind its checked bytes, and tells the fetch how
// the stream ended.
func (e *Env) receive(ctx context.Context, self *actor.PID, c *objectCopy, o transfer.Open) {
	defer c.buffer.Release()
	c.buffer.Resume()
	ended := func(why transfer.Why, gen phalanx.Generation, text string) {
		if ctx.Err() == nil {
			e.send(self, transfer.Ended{Stream: o.Stream, Why: why, Gen: gen, Held: c.buffer.Watermark(), Text: text})
		}
	}
	s, err := e.Conns.Open(ctx, o.Sender, dataplane.Request{Kind: dataplane.Object, Object: c.Object, Generation: o.Gen,
		Offset: c.buffer.Arrived(), Checked: checkedTo(c, o), Lease: o.Lease, Beside: o.Beside})
	if err != nil {
		ended(transfer.Broken, o.Gen, err.Error())
		return
	}
	defer s.Close()
	stop := context.AfterFunc(ctx, s.Close)
	defer stop()
	cycle := false
	from, began := c.buffer.Arrived(), time.Now()
	end := s.ReceiveInto(c.buffer, dataplane.Progress{Wait: func(path []phalanx.NodeID) {
		if slices.Contains(path, e.Self) {
			cycle = true
			s.Close()
			return
		}
		c.path.set(path)
	}})
	text := ""
	if end.Err != nil {
		text = end.Err.Error()
	}
	switch end.Reason {
	case dataplane.Complete:
		digest, _ := c.buffer.Digest()
		received := pace.Received{Bytes: c.buffer.Size() - from, Took: time.Since(began), Idle: end.Idle}
		e.down.received(received, e.Now())
		ended(transfer.AllSent, o.Gen, "")
		if ctx.Err() == nil {
			e.send(self, transfer.Whole{Gen: o.Gen, Size: c.buffer.Size(), Digest: digest, Rate: pace.Default.Rate(received)})
		}
	case dataplane.Reset:
		ended(transfer.Superseded, end.Generation, text)
	case dataplane.Busy:
		ended(transfer.Busy, o.Gen, text)
	case dataplane.Gone:
		ended(transfer.Gone, o.Gen, text)
	case dataplane.Stalled:
		ended(transfer.Stalled, o.Gen, text)
	case dataplane.Corrupt:
		ended(transfer.BadPiece, o.Gen, text)
	case dataplane.NoRoom:
		ended(transfer.Full, o.Gen, text)
	default:
		if cycle {
			ended(transfer.Cycle, o.Gen, text)
			return
		}
		ended(transfer.Broken, o.Gen, text)
	}
}

// checkedTo returns where the piece ends that the sender is to check first.
func checkedTo(c *objectCopy, o transfer.Open) int64 {
	if !o.Checked {
		return 0
	}
	return c.buffer.Arrived() + dataplane.PieceSize
}
