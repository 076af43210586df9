package store

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/node/fetch"
	"github.com/phalanx-go/phalanx/node/owner"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/transfer"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

const (
	// firstRoom is the room that a fetch reserves before it knows the size: the
	// first answer leases an object that fits.
	firstRoom = 1 << 20
	// growStep is the room that an object of unknown size reserves at a time.
	growStep = 4 << 20
	// numsPerActor is how many request numbers a fetch or a put may use.
	numsPerActor = 1 << 20
)

// Messages to a fetch.
type (
	want  struct{ *call }
	leave struct {
		id    uint64
		taken bool // the store has taken the call off the list, and may have put it there again
	}
	expired  struct{ *call } // its deadline has passed
	pushed   struct{ transfer.Pushed }
	readers  struct{} // the receivers downstream are others than before
	answered struct {
		transfer.Answered
		smallBytes
		existed bool // of a put
	}
	silent struct { // the owner, to a Locate
		num uint64
		err *phalanx.Error
	}
	retire struct{}
)

// fetcher hosts a transfer.Receiver: it carries out the core's effects and tells the core of
// events of the data plane.
type fetcher struct {
	env     *Env
	object  phalanx.ObjectID
	arrival *arrival
	store   *actor.PID

	core     *transfer.Receiver
	self     *actor.PID
	ctx      context.Context // of the actor's goroutines
	cancel   context.CancelFunc
	room     *handover[int64] // of the budget, from a reservation that had to wait
	reserved int64            // of the budget, not yet a buffer's
	needs    fetch.Room
	lacks    int64 // the bytes of the last reservation that had to wait
	copy     *objectCopy
	small    smallBytes       // of the last answer
	known    map[uint64]*call // the calls of which the core knows
	opening  []*call
	opened   map[uint64]*reader // the readers of known calls, until their callers close them
	stream   context.CancelFunc
	streamID uint64
	locate   uint64             // the last Locate
	writing  chan struct{}      // closed when the last writer of a buffer has ended
	growing  context.CancelFunc // of a buffer of unknown size
	supply   *supply            // which the core has not taken yet
	result   error
	final    *objectCopy // once complete; retained until all callers have their answers
	held     bool
	inline   fetch.Inline
	probe    fetch.Probe
	wakeup   actors.Wakeup // of the probe
}

// newFetch returns the props of an actor that goes on with a.
func newFetch(env *Env, a *arrival, store *actor.PID) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor {
		return &fetcher{env: env, object: a.object, arrival: a, store: store, known: map[uint64]*call{}, opened: map[uint64]*reader{}, probe: fetch.NewProbe(fetch.ProbeEvery)}
	})
}

// Receive turns messages into events.
func (f *fetcher) Receive(c actor.Context) {
	if f.wakeup.Due(c) {
		f.look()
	}
	f.hear(c)
	at, ok := f.probe.Due()
	f.wakeup.Set(c, f.env.Now(), at, ok)
}

func (f *fetcher) hear(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		f.start(c)
	case *actor.Stopping, *actor.Restarting:
		f.end()
	case want:
		f.want(m.call)
	case leave:
		f.leave(m)
	case expired:
		f.expire(m.call)
	case answered:
		if m.bytes != nil || m.Inline {
			f.small = m.smallBytes
		}
		if fetch.Frees(m.Answered) {
			f.unreserve()
		}
		f.do(m.Answered)
	case pushed:
		f.pushed(m.Pushed)
	case readers:
		if f.copy != nil {
			f.do(transfer.Downstream{Streams: f.env.Table.readers(f.copy)})
		}
	case suppliedAll:
		f.suppliedAll(m)
	case transfer.Event:
		f.do(m)
	case roomReserved:
		f.takeRoom()
		f.do(transfer.Reserved{Bytes: m.bytes})
	case inlineRoom:
		f.inlineRoom(m.err)
	case silent:
		f.silent(m)
	case probed:
		f.probed(m)
	case supply:
		f.supplied(m)
	case unsupplied:
		f.putSupply(m.supply)
	case retire:
		c.Stop(c.Self())
	case actors.Crash:
		panic(m)
	}
}

func (f *fetcher) start(c actor.Context) {
	f.self = c.Self()
	f.ctx, f.cancel = context.WithCancel(context.Background())
	f.env.active.mu.Lock()
	f.reserved, f.arrival.room = f.arrival.room, 0
	f.env.active.mu.Unlock()
	f.room = &handover[int64]{release: f.env.Pool.Budget().Release}
	f.locate = f.arrival.num
	f.core = transfer.NewReceiver(transfer.Config{Self: f.env.Self, Object: f.object, Room: f.reserved, FirstNum: f.arrival.num})
}

// end frees the fetch's room and part. A complete copy stays in the table.
func (f *fetcher) end() {
	f.cancel()
	f.env.Directory.Forget(f.probe.End())
	f.probe = fetch.Probe{}
	f.room.close()
	f.unreserve()
	closing, gen := f.env.isClosing(), f.genHeld()
	if f.copy != nil && f.final == nil {
		kind := phalanx.ErrInternal
		if closing {
			kind = f.env.Ended().Kind
		}
		f.env.Table.drop(f.copy, &dataplane.Ended{Reason: dataplane.Gone, Kind: kind, Node: f.env.Self, Err: errors.New("the actor that fetched it has ended")})
	}
	f.setCopy(nil)
	f.letGo()
	if !closing {
		f.withdraw(gen)
	}
}

// withdraw tells the owner that this fetch, whose actor has failed, has ended. It had a part of gen.
func (f *fetcher) withdraw(gen phalanx.Generation) {
	e, inline := f.inline.Take()
	if inline {
		gen = e.Gen
	}
	for _, m := range owner.Abandoned(f.core.Over(), inline, f.locate, gen) {
		f.env.message(f.object, m)
	}
}

// setCopy notes the copy that the bytes go to. The fetch has a reference of its
// own, since an order of the owner may drop the copy at any time.
func (f *fetcher) setCopy(c *objectCopy) {
	if f.copy != nil {
		f.copy.buffer.Release()
	}
	if f.copy = c; c != nil {
		c.buffer.Retain()
	}
}

func (f *fetcher) unreserve() {
	f.env.Pool.Budget().Release(f.reserved)
	f.reserved = 0
}

func (f *fetcher) want(c *call) {
	if f.inline.Waits() {
		f.known[c.id] = c
		return
	}
	if f.core.Over() { // the store looks again
		if f.arrival.remove(c.id) != nil {
			f.env.send(f.store, want{c})
		}
		return
	}
	f.known[c.id] = c
	if c.reader && (f.copy == nil || !f.open(c)) {
		f.opening = append(f.opening, c)
	}
	f.do(transfer.Want{Caller: c.id, Wait: c.wait})
}

// expire answers a call whose deadline has passed, also before the call itself has come
// here.
func (f *fetcher) expire(c *call) {
	node, why := f.core.Reason()
	err := &phalanx.Error{Node: node, Kind: phalanx.ErrDeadline, Err: errors.New(why)}
	if f.inline.Waits() || f.core.Reserving() {
		err = f.env.lack(f.lacks)
	}
	c.answer(nil, nil, err)
	if f.opened[c.id] == nil { // a Reader stays until it is closed
		f.leave(leave{id: c.id})
	}
}

func (f *fetcher) leave(m leave) {
	if m.taken && f.opened[m.id] != nil && f.copy != nil && !f.env.Table.isDropped(f.copy) {
		return // its reader stays with the fetch's copy
	}
	delete(f.known, m.id)
	delete(f.opened, m.id)
	if !m.taken {
		f.arrival.remove(m.id)
	}
	f.do(transfer.Leave{Caller: m.id})
	f.leftInline()
}

// open answers an Open, unless the copy was dropped: then it waits for the next.
// The caller stays until its Reader is closed.
func (f *fetcher) open(c *call) bool {
	id, store, object := c.id, f.store, f.object
	r := newReader(c, f.env.Table, f.copy, func() { f.env.send(store, left{object, id}) })
	if r == nil {
		return false
	}
	if c.answer(nil, r, nil) {
		f.opened[id] = r
	}
	return true
}

// pushed takes an order of the owner. A delete can come just after the core has ended with
// inline bytes: then the fetch itself obeys it.
func (f *fetcher) pushed(p transfer.Pushed) {
	f.do(p)
	if p.Order != transfer.OrderDrop {
		return
	}
	if f.inline.Deleted(p) {
		f.result = &phalanx.Error{Kind: phalanx.ErrDeleted, Err: errors.New("the object was deleted while it arrived")}
		f.finish()
	}
	if f.final != nil && !p.Gen.Less(f.final.Gen) {
		f.env.Table.drop(f.final, errDeletedHere(f.env.Self))
	}
}

func (f *fetcher) do(ev transfer.Event) {
	for _, e := range f.core.Step(f.env.Now(), ev) {
		f.carryOut(e)
	}
	f.arrival.locating.Store(f.core.Locating() != 0)
}

func (f *fetcher) carryOut(e transfer.Effect) {
	if m, ok := owner.OfFetch(e); ok {
		f.message(m)
		return
	}
	switch e := e.(type) {
	case transfer.Reserve:
		f.reserve(e.Bytes)
	case transfer.Open:
		f.openStream(e)
	case transfer.Close:
		f.closeStream(e.Stream)
	case transfer.Supply:
		f.takeSupply()
	case transfer.Clear:
		f.clear(e)
	case transfer.TakeInline:
		f.takeInline(e)
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

func (f *fetcher) genHeld() phalanx.Generation {
	if f.copy == nil {
		return phalanx.Generation{}
	}
	return f.copy.Gen
}

// message sends m to the owner.
func (f *fetcher) message(m owner.Message) {
	self, env := f.self, f.env
	switch m.How {
	case owner.Await:
		if f.locate = m.Num; m.Num == f.arrival.num { // that is the look-up
			return
		}
		locate := m.Body.(directory.Locate)
		locate.Down = env.down.known(env.Now())
		env.Directory.Request(f.object, m.Num, locate, func(from phalanx.NodeID, r directory.Result) {
			env.send(self, answered{Answered: owner.Answered(m.Num, from, r), smallBytes: smallOf(r)})
		})
		env.Directory.Impatient(m.Num, func(err *phalanx.Error) { env.send(self, silent{m.Num, err}) })
	case owner.List:
		num, gen := env.Directory.Nums(1), m.Gen
		env.Directory.Request(f.object, num, m.Body, func(from phalanx.NodeID, r directory.Result) {
			env.send(self, transfer.Listed{Of: gen, Answered: owner.Answered(num, from, r)})
		})
	default:
		env.message(f.object, m)
	}
}

// silent turns every caller away, if the fetch still waits for that answer.
func (f *fetcher) silent(m silent) {
	if f.core.Locating() == m.num {
		f.turnAway(m.err)
	}
}

// turnAway answers every caller with err. The fetch goes on for its receivers downstream.
func (f *fetcher) turnAway(err *phalanx.Error) {
	for _, id := range slices.Sorted(maps.Keys(f.known)) {
		if c := f.forget(id); c != nil {
			c.answer(nil, nil, err)
		}
		if r := f.opened[id]; r != nil {
			r.fail(err)
		}
		f.do(transfer.Leave{Caller: id})
	}
}

// complete makes the copy complete and answers everyone.
func (f *fetcher) complete(e transfer.Complete) {
	if f.inline.Waits() { // once there is room
		return
	}
	if f.final == nil && f.result == nil {
		f.final = f.copy
		f.held = f.env.Table.retain(f.copy) // before it can be evicted
		f.env.Table.finish(f.copy, e.Meta, e.Digest, false)
	}
	f.finish()
}

// forget takes a call off the list; nil if it was answered.
func (f *fetcher) forget(id uint64) *call {
	delete(f.known, id)
	return f.arrival.remove(id)
}

// finish answers the calls that the core knows of and asks the store to retire
// this actor. A call that is still on its way begins anew.
func (f *fetcher) finish() {
	for id := range f.known {
		if c := f.forget(id); c != nil {
			f.answer(c)
		}
	}
	f.letGo()
	f.env.send(f.store, fetchOver{f.object, f.arrival})
}

// letGo ends the fetch's own use of the complete copy.
func (f *fetcher) letGo() {
	if f.held {
		f.held = false
		f.env.Table.release(f.final)
	}
}

func (f *fetcher) answer(c *call) {
	if f.final == nil {
		c.answer(nil, nil, f.result)
		return
	}
	f.env.hand(c, f.final)
}

// discard drops the part that has arrived, and gives waiting callers the reason.
func (f *fetcher) discard() {
	f.unreserve()
	if f.copy != nil {
		err := error(&dataplane.Ended{Reason: dataplane.Gone, Kind: phalanx.ErrAborted, Node: f.env.Self})
		if k, ok := kindOf(f.result); ok && f.result != nil {
			err = &dataplane.Ended{Reason: dataplane.Gone, Kind: k, Node: f.env.Self, Err: f.result}
		}
		f.env.Table.drop(f.copy, err)
		f.setCopy(nil)
	}
	if f.result == nil {
		f.result = &phalanx.Error{Kind: phalanx.ErrCanceled, Err: errors.New("no caller waits for the object any more")}
		f.finish()
	}
}

func (f *fetcher) clear(e transfer.Clear) {
	goes, newer := fetch.Cleared(f.genHeld(), e)
	if !goes {
		return
	}
	err := &dataplane.Ended{Reason: dataplane.Gone, Kind: e.Kind, Node: f.env.Self}
	if newer {
		err.Reason, err.Generation = dataplane.Reset, e.Before
	}
	f.env.Table.drop(f.copy, err)
	f.setCopy(nil)
}
