package storenode

import (
	"context"
	"errors"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/transfer"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

const (
	// firstRoom is what a fetch reserves before it knows the size: an object
	// that fits is leased by the first answer.
	firstRoom = 1 << 20
	// growStep is how an object of unknown size reserves room.
	growStep = 4 << 20
	// numsPerActor is how many request numbers a fetch or a put may use.
	numsPerActor = 1 << 20
)

// Messages to a fetch.
type (
	want     struct{ *call }
	leave    struct{ id uint64 }
	expired  struct{ id uint64 } // the call's deadline
	pushed   struct{ transfer.Pushed }
	readers  struct{ streams int } // receivers downstream
	answered struct {
		transfer.Answered
		inline []byte
	}
	retire struct{}
)

// fetch hosts a transfer.Receiver: it carries out what the core decides and
// reports what the data plane did.
type fetch struct {
	env     *Env
	object  phalanx.ObjectID
	arrival *arrival
	store   *actor.PID

	core     *transfer.Receiver
	self     *actor.PID
	ctx      context.Context // of what runs beside the actor
	cancel   context.CancelFunc
	reserved int64 // of the budget, not yet a buffer's
	copy     *objectCopy
	inline   []byte // of the last answer
	known    map[uint64]*call // those that the core knows of
	opening  []*call
	stream   context.CancelFunc
	streamID uint64
	result   error
	final    *objectCopy // once complete
}

func newFetch(env *Env, id phalanx.ObjectID, a *arrival, store *actor.PID) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor {
		return &fetch{env: env, object: id, arrival: a, store: store, known: map[uint64]*call{}}
	})
}

// Receive turns messages into events.
func (f *fetch) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		f.start(c)
	case *actor.Stopping, *actor.Restarting:
		f.end()
	case want:
		f.want(m.call)
	case leave:
		f.forget(m.id)
		f.do(transfer.Leave{Caller: m.id})
	case expired:
		f.expire(m.id)
	case answered:
		if m.inline != nil || m.Inline {
			f.inline = m.inline
		}
		f.do(m.Answered)
	case pushed:
		f.do(m.Pushed)
	case readers:
		f.do(transfer.Downstream{Streams: m.streams})
	case transfer.Event:
		f.do(m)
	case reservedRoom:
		f.unreserve()
		f.reserved = m.charge
	case retire:
		c.Stop(c.Self())
	}
}

func (f *fetch) start(c actor.Context) {
	f.self = c.Self()
	f.ctx, f.cancel = context.WithCancel(context.Background())
	if f.env.Pool.Budget().TryReserve(firstRoom) {
		f.reserved = firstRoom
	}
	f.core = transfer.NewReceiver(transfer.Config{Self: f.env.Self, Object: f.object, Room: f.reserved,
		FirstNum: f.env.Directory.Nums(numsPerActor)})
}

// end frees what the fetch holds; what is complete stays in the table.
func (f *fetch) end() {
	f.cancel()
	f.unreserve()
	if f.copy != nil && f.final == nil {
		f.env.Table.drop(f.copy, &dataplane.Ended{Reason: dataplane.Gone, Kind: phalanx.ErrAborted, Node: f.env.Self})
	}
}

func (f *fetch) unreserve() {
	f.env.Pool.Budget().Release(f.reserved)
	f.reserved = 0
}

func (f *fetch) want(c *call) {
	if f.core.Over() { // the store looks again
		if f.arrival.remove(c.id) != nil {
			f.env.send(f.store, want{c})
		}
		return
	}
	f.known[c.id] = c
	if c.reader && f.copy != nil {
		f.open(c)
	} else if c.reader {
		f.opening = append(f.opening, c)
	}
	f.do(transfer.Want{Caller: c.id, Wait: c.wait})
}

func (f *fetch) expire(id uint64) {
	if c := f.forget(id); c != nil {
		node, why := f.core.Reason()
		c.answer(nil, nil, &phalanx.Error{Node: node, Kind: phalanx.ErrDeadline, Err: errors.New(why)})
	}
	f.do(transfer.Leave{Caller: id})
}

// open answers an Open: the caller stays until its Reader is closed.
func (f *fetch) open(c *call) {
	id, store, object := c.id, f.store, f.object
	c.answer(nil, newReader(c.ctx, f.env.Table, f.copy, func() { f.env.send(store, left{object, id}) }), nil)
}

func (f *fetch) do(ev transfer.Event) {
	for _, e := range f.core.Step(f.env.Now(), ev) {
		f.carryOut(e)
	}
}

func (f *fetch) carryOut(e transfer.Effect) {
	switch e := e.(type) {
	case transfer.Locate:
		f.request(e.Num, directory.Locate{Room: e.Room, Wait: e.Wait})
	case transfer.Cancel:
		f.env.Directory.Forget(e.Num)
		f.report(f.env.Directory.Nums(1), directory.Cancel{Num: e.Num})
	case transfer.ReportDone:
		f.report(e.Num, directory.Done{Lease: e.Lease, Gen: e.Gen, Complete: e.Complete, Rate: e.Rate})
	case transfer.ReportFailed:
		f.report(e.Num, directory.Failed{Lease: e.Lease, Reason: e.Reason})
	case transfer.ReportDrop:
		f.report(e.Num, directory.Drop{Gen: e.Gen})
	case transfer.Announce:
		f.report(e.Num, directory.Announce{Gen: e.Gen, Complete: e.Complete, Pinned: e.Pinned, Origin: e.Origin, Begun: e.Begun, Retiring: e.Retiring})
	case transfer.Reserve:
		f.reserve(e.Bytes)
	case transfer.Open:
		f.openStream(e)
	case transfer.Close:
		f.closeStream(e.Stream)
	case transfer.Clear:
		f.clear(e)
	case transfer.TakeInline:
		f.unreserve()
		f.final = f.env.Table.keepInline(Info{Object: f.object, Gen: e.Gen, Meta: e.Meta, Digest: e.Digest}, f.inline, false)
		if f.final == nil {
			f.result = &phalanx.Error{Node: f.env.Self, Kind: phalanx.ErrNoSpace, Err: fmt.Errorf("%d inline bytes do not fit under the memory cap", len(f.inline))}
		}
	case transfer.Complete:
		f.complete(e)
	case transfer.Refuse:
		if c := f.forget(e.Caller); c != nil {
			c.answer(nil, nil, e.Err)
		}
	case transfer.Fail:
		f.result = e.Err
		f.finish()
	case transfer.Discard:
		f.discard()
	case transfer.SenderLost:
		f.env.Publish(actors.SenderLost{Object: f.object, Generation: f.genHeld(), Sender: e.Sender, Offset: e.Held, Cause: e.Why.String()})
	case transfer.Resumed:
		f.env.Publish(actors.TransferResumed{Object: f.object, Generation: e.Gen, Sender: e.Sender, Offset: f.env.Table.Held(f.object), Took: e.After})
	}
}

func (f *fetch) genHeld() phalanx.Generation {
	if f.copy == nil {
		return phalanx.Generation{}
	}
	return f.copy.gen
}

// request sends a request whose answer the core awaits.
func (f *fetch) request(num uint64, body directory.Body) {
	self, env := f.self, f.env
	env.Directory.Request(f.object, num, body, func(owner phalanx.NodeID, r directory.Result) {
		env.send(self, answered{Answered: toAnswered(num, owner, r), inline: r.Inline})
	})
}

// report sends a request whose answer does not matter.
func (f *fetch) report(num uint64, body directory.Body) {
	f.env.Directory.Request(f.object, num, body, func(phalanx.NodeID, directory.Result) {})
}

func toAnswered(num uint64, owner phalanx.NodeID, r directory.Result) transfer.Answered {
	return transfer.Answered{Num: num, Kind: r.Kind, Text: r.Text, Node: owner, Waiting: r.Waiting, State: transfer.State(r.State),
		Gen: r.Gen, Meta: r.Meta, Digest: r.Digest, Inline: r.Inline != nil || r.IsInline && r.Meta.Size == 0, Lease: r.Lease, Sender: r.Sender}
}

func (f *fetch) reserve(bytes int64) {
	self, env, ctx := f.self, f.env, f.ctx
	if bytes == phalanx.UnknownSize {
		if f.copy == nil {
			env.send(self, transfer.Reserved{Bytes: bytes})
			return
		}
		buf := f.copy.buffer
		buf.Retain()
		go func() {
			defer buf.Release()
			env.sendReserved(self, bytes, buf.Grow(ctx, growStep))
		}()
		return
	}
	f.unreserve() // waiting while holding could starve two fetches of each other
	charge := dataplane.Charge(bytes)
	go func() {
		err := env.Pool.Budget().Reserve(ctx, charge)
		if err == nil {
			env.send(self, reservedRoom{charge})
		}
		env.sendReserved(self, bytes, err)
	}()
}

// reservedRoom hands a reservation to the fetch.
type reservedRoom struct{ charge int64 }

func (e *Env) sendReserved(to *actor.PID, bytes int64, err error) {
	var pe *phalanx.Error
	switch {
	case err == nil:
		e.send(to, transfer.Reserved{Bytes: bytes})
	case errors.As(err, &pe):
		e.send(to, transfer.NoRoom{Err: pe})
	default:
		e.send(to, transfer.NoRoom{Err: &phalanx.Error{Node: e.Self, Kind: phalanx.ErrNoSpace, Err: err}})
	}
}

// complete makes the copy complete and answers everyone.
func (f *fetch) complete(e transfer.Complete) {
	if f.final == nil && f.result == nil {
		f.final = f.copy
		f.env.Table.finish(f.copy, e.Meta, e.Digest, false)
	}
	f.finish()
}

// forget takes a call off the list; nil if it was answered.
func (f *fetch) forget(id uint64) *call {
	delete(f.known, id)
	return f.arrival.remove(id)
}

// finish answers the calls that the core knows of and asks the store to retire
// this actor. A call that is still on its way begins anew.
func (f *fetch) finish() {
	for id := range f.known {
		if c := f.forget(id); c != nil {
			f.answer(c)
		}
	}
	f.env.send(f.store, fetchOver{f.object, f.arrival})
}

func (f *fetch) answer(c *call) {
	if f.final == nil {
		c.answer(nil, nil, f.result)
		return
	}
	if c.pin {
		f.env.pin(f.final)
	}
	if c.reader {
		c.answer(nil, newReader(c.ctx, f.env.Table, f.final, nil), nil)
		return
	}
	v := f.env.Table.viewOf(f.final)
	if v == nil {
		c.answer(nil, nil, &phalanx.Error{Kind: phalanx.ErrDeleted, Err: errors.New("it was deleted as it arrived")})
		return
	}
	c.answer(v, nil, nil)
}

// discard drops what has arrived; everyone who still waits hears why.
func (f *fetch) discard() {
	f.unreserve()
	if f.copy != nil {
		err := error(&dataplane.Ended{Reason: dataplane.Gone, Kind: phalanx.ErrAborted, Node: f.env.Self})
		if k, ok := kindOf(f.result); ok && f.result != nil {
			err = &dataplane.Ended{Reason: dataplane.Gone, Kind: k, Node: f.env.Self, Err: f.result}
		}
		f.env.Table.drop(f.copy, err)
		f.copy = nil
	}
	if f.result == nil {
		f.result = &phalanx.Error{Kind: phalanx.ErrCanceled, Err: errors.New("nobody waits for it any more")}
		f.finish()
	}
}

func (f *fetch) clear(e transfer.Clear) {
	if f.copy == nil || !f.copy.gen.Less(e.Before) {
		return
	}
	err := &dataplane.Ended{Reason: dataplane.Reset, Generation: e.Before, Kind: e.Kind, Node: f.env.Self}
	if e.Kind == phalanx.ErrAborted {
		err.Reason = dataplane.Gone
	}
	f.env.Table.drop(f.copy, err)
	f.copy = nil
}
