package sim

import (
	"fmt"
	"slices"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/copies"
	"github.com/phalanx-go/phalanx/node/fetch"
	"github.com/phalanx-go/phalanx/node/owner"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/transfer"
)

// growStep is the room in bytes that the fetch of an object of unknown size reserves at a time.
const growStep = 24

// fetcher fetches one object to a node: it has a Receiver, its buffer and its callers.
type fetcher struct {
	n        *node
	object   phalanx.ObjectID
	core     *transfer.Receiver
	buf      *copied // in the table if it has a generation; else it only has reserved room
	callers  []*call
	wish     *wish
	needs    fetch.Room
	bytes    []byte // that came with the last answer
	tag      string // of the Reduce that has made them
	inlineIn uint64 // the epoch in which its owner lists this node with them
	unlisted bool   // its owner was told meanwhile that this node has no copy
	inline   fetch.Inline
	entered  bool    // inline bytes are in the table
	supply   *supply // a supply that the core has not taken yet
	dead     bool    // it has panicked
	probe    *probe
	bad      *copied // of another node, which has changed there, as the last bad piece of it showed

	stream uint64
	sender phalanx.NodeID
	gen    phalanx.Generation // as last opened: never falls
	locate uint64             // the last
}

// get gives a caller its object, from the table or by a fetch.
func (n *node) get(c *call) {
	switch have := n.of(c.object); n.table.Way(n.table.Of(c.object)) {
	case copies.Has:
		n.w.met["get of a local copy"]++
		n.hand(c, have)
		return
	case copies.Makes:
		n.w.met["get of what is made here"]++
		n.awaitOwn(c, have)
		return
	}
	f := n.fetches[c.object]
	if f == nil {
		f = &fetcher{n: n, object: c.object, buf: n.copyFor(copies.Copy{Object: c.object})}
		room := int64(0)
		if n.memory.try(f.buf, n.w.shape.inline) {
			room = n.w.shape.inline
		}
		f.core = transfer.NewReceiver(transfer.Config{Self: n.id, Object: c.object, Room: room, FirstNum: n.client.numbers()})
		f.probe = n.probe(c.object, f.seen, f.turnAway)
		n.fetches[c.object] = f
	} else {
		n.w.met["get joins a transfer"]++
	}
	f.callers = append(f.callers, c)
	if !f.inline.Waits() {
		f.step(transfer.Want{Caller: c.id, Wait: c.wait})
	}
}

// hand gives a complete copy to a caller.
func (n *node) hand(c *call, have *copied) {
	n.table.Want(&have.Copy, c.pin, n.refuses)
	if have.Dropped {
		n.w.end(c, errorf(phalanx.ErrDeleted, c.object, "it was deleted while it arrived"), phalanx.Generation{}, nil)
		return
	}
	if kept := n.table.Obeyed(c.object, c.pin, c.copies); kept != nil {
		n.client.report(c.object, kept.Announcement(true), nil)
	}
	n.w.end(c, nil, have.Gen, have.bytes)
}

// own has the callers that wait for an object that this node makes.
type own struct {
	calls []*call
	probe *probe
}

// awaitOwn has a caller wait for an object that this node makes: no other node could send it.
func (n *node) awaitOwn(c *call, have *copied) {
	o := n.owns[c.object]
	if o == nil {
		o = &own{}
		o.probe = n.probe(c.object, func() (fetch.Seen, bool) {
			return fetch.Seen{Gen: have.Gen, Held: int64(len(have.bytes))}, slices.ContainsFunc(o.calls, func(w *call) bool { return !w.ended })
		},
			func(err *phalanx.Error) {
				delete(n.owns, c.object)
				for _, w := range o.calls {
					if !w.ended {
						n.w.end(w, err, phalanx.Generation{}, nil)
					}
				}
			})
		o.probe.core.Begin(n.clock())
		n.owns[c.object] = o
	}
	o.calls = append(o.calls, c)
}

// awaited lets the callers of awaitOwn go on: the object is complete, or gone.
func (n *node) awaited(id phalanx.ObjectID) {
	o := n.owns[id]
	if o == nil || n.makes(id) {
		return
	}
	delete(n.owns, id)
	o.probe.end()
	for _, w := range o.calls {
		if !w.ended {
			n.get(w)
		}
	}
}

// ownShown has callers that wait for an object from elsewhere wait for this node's own, which has
// just begun.
func (n *node) ownShown(id phalanx.ObjectID) {
	n.after(0, func() {
		f := n.fetches[id]
		if f == nil {
			return
		}
		callers := f.callers
		f.callers = nil
		for _, c := range callers {
			n.w.met["get waits for what is made here"]++
			f.step(transfer.Leave{Caller: c.id})
			n.get(c)
		}
		f.leftInline()
		n.w.step(n, "own shown")
	})
}

// silent turns all callers away if they still wait for the answer to Locate num.
func (f *fetcher) silent(num uint64, err *phalanx.Error) {
	if f.core.Locating() == num {
		f.turnAway(err)
	}
}

func (f *fetcher) turnAway(err *phalanx.Error) {
	for _, c := range slices.Clone(f.callers) {
		f.leave(c, err)
	}
}

// seen returns how many bytes the fetch has, and whether its callers wait for senders.
func (f *fetcher) seen() (seen fetch.Seen, waits bool) {
	if !f.buf.Gen.IsZero() {
		seen = fetch.Seen{Gen: f.buf.Gen, Held: int64(len(f.buf.bytes))}
	}
	return seen, len(f.callers) > 0 && f.core.Arriving()
}

// panics ends the fetch as if its actor had panicked.
func (f *fetcher) panics() {
	n := f.n
	if f.stream != 0 {
		n.in[f.stream].over = true
		n.in[f.stream].pipe.write(closing{f.stream})
	}
	f.forgetWish()
	f.probe.end()
	f.dead = true
	delete(n.fetches, f.object)
	gen := f.buf.Gen
	f.dropBuf(nil)
	e, inline := f.inline.Take()
	if inline {
		gen = e.Gen
	}
	for _, m := range owner.Abandoned(f.core.Over(), inline, f.locate, gen) {
		n.message(f.object, m)
	}
	callers := f.callers
	f.callers = nil
	for _, c := range callers {
		c.excused = true
		n.w.end(c, errorf(phalanx.ErrInternal, f.object, "the actor that fetched it failed"), phalanx.Generation{}, nil)
	}
}

// leave ends the wait of one caller.
func (f *fetcher) leave(c *call, err *phalanx.Error) {
	f.callers = slices.DeleteFunc(f.callers, func(x *call) bool { return x == c })
	f.n.w.end(c, err, phalanx.Generation{}, nil)
	f.step(transfer.Leave{Caller: c.id})
	f.leftInline()
}

// pushed hears an order of the owner. The core does not follow inline bytes that wait for room, so
// pushed itself handles their delete.
func (f *fetcher) pushed(p directory.Push) {
	heard, ok := owner.Order(p)
	if !ok {
		return
	}
	f.step(heard)
	if f.inline.Deleted(heard) {
		f.n.w.met["inline bytes deleted while they wait for room"]++
		f.fail(errorf(phalanx.ErrDeleted, f.object, "it was deleted while it arrived"))
		f.over()
	}
}

func (f *fetcher) step(ev transfer.Event) {
	if f.core.Over() || f.dead {
		return
	}
	for _, e := range f.core.Step(f.n.clock(), ev) {
		f.carryOut(e)
	}
	if f.core.Over() && !f.inline.Waits() {
		f.over()
	}
}

// over ends a fetch.
func (f *fetcher) over() {
	f.forgetWish()
	f.probe.end()
	f.letGo()
	if f.n.fetches[f.object] == f {
		delete(f.n.fetches, f.object)
	}
}

// letGo releases the room of a buffer that is not in the table: an order may have dropped it.
func (f *fetcher) letGo() {
	if b := f.buf; (b.Gen.IsZero() || b.Dropped) && b.Users() == 0 {
		f.n.memory.release(b)
	}
}

// fail ends all calls with an error.
func (f *fetcher) fail(err *phalanx.Error) {
	callers := f.callers
	f.callers = nil
	for _, c := range callers {
		f.n.w.end(c, err, phalanx.Generation{}, nil)
	}
}

// dropBuf drops the bytes that have arrived, and begins an empty buffer.
func (f *fetcher) dropBuf(why error) {
	if !f.buf.Gen.IsZero() {
		f.n.table.Drop(&f.buf.Copy, why)
	}
	f.letGo()
	f.buf = f.n.copyFor(copies.Copy{Object: f.object})
}

func (f *fetcher) carryOut(e transfer.Effect) {
	n := f.n
	if m, ok := owner.OfFetch(e); ok {
		f.message(m)
	}
	switch e := e.(type) {
	case transfer.ReportDone:
		f.stream, f.sender = 0, ""
	case transfer.ReportFailed:
		n.w.met["sender lost: "+firstWord(e.Reason)]++
		f.stream, f.sender = 0, ""
	case transfer.ReportCorrupt:
		n.w.fail("(3) %s has every piece of %s@%v and the digest %v", n.id, f.object, e.Gen, e.Digest)
	case transfer.Reserve:
		f.reserve(e.Bytes)
	case transfer.Open:
		f.open(e)
	case transfer.Close:
		n.in[e.Stream].pipe.write(closing{e.Stream})
		f.stream, f.sender = 0, ""
	case transfer.Clear:
		switch goes, newer := fetch.Cleared(f.buf.Gen, e); {
		case !goes:
			return
		case newer:
			f.dropBuf(&copies.Ended{Why: copies.Reset, Gen: e.Before})
		default:
			f.dropBuf(nil)
		}
		n.w.met["prefix cleared: "+e.Kind.Error()]++
	case transfer.Supply:
		f.takeSupply()
	case transfer.TakeInline:
		n.w.met["inline"]++
		if f.buf.Gen == e.Gen && len(f.buf.bytes) > 0 { // local readers of the part would lose it
			n.w.fail("(25) %s has read %d bytes of %s@%v, which is inline", n.id, len(f.buf.bytes), f.object, e.Gen)
		}
		f.takeInline(e)
	case transfer.Complete:
		f.complete(e)
	case transfer.Discard:
		f.forgetWish()
		f.dropBuf(nil)
	case transfer.Fail:
		f.fail(e.Err)
	case transfer.Refuse:
		i := slices.IndexFunc(f.callers, func(c *call) bool { return c.id == e.Caller })
		c := f.callers[i]
		f.callers = slices.Delete(f.callers, i, i+1)
		n.w.end(c, e.Err, phalanx.Generation{}, nil)
	case transfer.SenderLost:
		n.w.trace.say(n.w.now, string(n.id), "%s: sender %s lost (%v) at %d", f.object, e.Sender, e.Why, e.Held)
	case transfer.Resumed:
		if len(f.buf.bytes) > 0 {
			n.w.met["transfer resumed"]++
		}
	}
}

func (f *fetcher) answered(num uint64) func(phalanx.NodeID, directory.Result) {
	return func(from phalanx.NodeID, r directory.Result) {
		f.bytes, f.tag, f.inlineIn = r.Inline, r.Tag, r.Listed
		if r.Waiting {
			f.n.w.met["locate waits: "+r.State.String()]++
		}
		a := owner.Answered(num, from, r)
		if fetch.Frees(a) && f.buf.Gen.IsZero() {
			f.n.memory.release(f.buf)
		}
		f.step(a)
	}
}

// message sends m to the owner.
func (f *fetcher) message(m owner.Message) {
	c := f.n.client
	switch m.How {
	case owner.Await:
		f.locate = m.Num
		locate := m.Body.(directory.Locate)
		locate.Down = f.n.known()
		c.ask(m.Num, f.object, locate, f.answered(m.Num))
		c.impatient(m.Num, func(err *phalanx.Error) { f.silent(m.Num, err) })
	case owner.List:
		c.report(f.object, m.Body, func(from phalanx.NodeID, r directory.Result) {
			f.step(transfer.Listed{Of: m.Gen, Answered: owner.Answered(0, from, r)})
		})
	default:
		f.n.message(f.object, m)
	}
}

// reserve waits for room: for one step more if the size is unknown, else for the size of the buffer
// or of the whole object.
func (f *fetcher) reserve(bytes int64) {
	n, buf, grows := f.n, f.buf, bytes == phalanx.UnknownSize && !f.buf.Gen.IsZero()
	room := buf.room + growStep
	if !grows {
		room = f.needs.Wait(bytes, bytes)
	}
	done := func(err *phalanx.Error) {
		if f.wish = nil; buf != f.buf { // the buffer was dropped meanwhile
			n.memory.release(buf)
		}
		n.after(0, func() { // not in the middle of a step
			if err != nil {
				f.step(transfer.NoRoom{Err: err})
			} else {
				f.step(transfer.Reserved{Bytes: bytes})
			}
			n.w.step(n, "room")
		})
	}
	if room == 0 {
		done(nil)
		return
	}
	if buf.Gen.IsZero() {
		n.memory.release(buf)
	}
	if grows {
		f.wish = n.memory.reserve(buf, room, done)
	} else {
		f.wish = f.wait()(buf, room, done)
	}
}

// wait returns how the fetch waits for room. A copy that an owner has ordered waits even if only a
// delete can make room.
func (f *fetcher) wait() func(c *copied, bytes int64, done func(*phalanx.Error)) *wish {
	if slices.ContainsFunc(f.callers, func(c *call) bool { return !c.pin.IsZero() }) {
		return f.n.memory.reserve
	}
	return f.n.memory.reserveIfPossible
}

func (f *fetcher) forgetWish() {
	if f.wish != nil {
		f.n.memory.forget(f.wish)
		f.wish = nil
	}
}

func (f *fetcher) open(e transfer.Open) {
	n := f.n
	if e.Gen.Less(f.gen) {
		n.w.fail("(15) %s opens %s@%v after %v", n.id, f.object, e.Gen, f.gen)
	}
	f.gen = e.Gen
	f.probe.core.Begin(n.clock())
	if f.buf.Gen.IsZero() && !f.makeCopy(e) {
		return
	}
	n.table.Reading(&f.buf.Copy, e.Sender, e.Lease, f.core.Origin())
	f.stream, f.sender = e.Stream, e.Sender
	f.pathChanged([]phalanx.NodeID{e.Sender})
	in := &incoming{f: f, began: n.w.now, from: int64(len(f.buf.bytes)), heard: n.w.now, pipe: &pipe{w: n.w, from: n.id, to: e.Sender}}
	n.in[e.Stream] = in
	in.pipe.write(open{stream: e.Stream, object: f.object, gen: e.Gen, offset: int64(len(f.buf.bytes)),
		lease: e.Lease, beside: e.Beside, checked: e.Checked})
}

// makeCopy shows an empty buffer of a generation. It ends the lease if it finds no room, or if this
// node has the object in another way.
func (f *fetcher) makeCopy(e transfer.Open) bool {
	n, size := f.n, e.Meta.Size
	switch f.needs.For(size, size, f.buf.room) {
	case fetch.Grows:
		n.memory.release(f.buf)
	case fetch.Reserved:
		n.memory.resize(f.buf, size)
	case fetch.Tries:
		if !n.memory.try(f.buf, size) {
			f.needs.Spent(size)
			n.w.met["what was reserved is spent"]++
			f.step(transfer.Ended{Stream: e.Stream, Why: transfer.Full, Gen: e.Gen})
			return false
		}
	}
	c := n.copyFor(copies.Copy{Object: f.object, Gen: e.Gen, Meta: e.Meta})
	if _, ok := n.table.Show(&c.Copy); !ok {
		n.w.met["fetch finds what is made here"]++
		f.step(transfer.Ended{Stream: e.Stream, Why: transfer.Superseded, Gen: e.Gen})
		return false
	}
	c.room, f.buf.room = f.buf.room, 0
	f.buf = c
	return true
}

func (f *fetcher) complete(e transfer.Complete) {
	f.stream, f.sender = 0, ""
	if f.inline.Waits() || f.entered { // once there is room, or inline bytes
		return
	}
	f.forgetWish()
	used := f.n.table.Use(&f.buf.Copy) // so that the evictor spares it until the callers have it
	f.n.table.Finish(&f.buf.Copy, e.Meta, e.Digest, false)
	f.answer(f.buf)
	if used {
		f.n.unuse(f.buf)
	}
}

// answer gives every caller the complete copy.
func (f *fetcher) answer(c *copied) {
	callers := f.callers
	f.callers = nil
	for _, caller := range callers {
		f.n.hand(caller, c)
	}
}

// downstream tells the core how many streams read from its buffer.
func (f *fetcher) downstream() {
	f.step(transfer.Downstream{Streams: f.buf.Streams()})
}

func firstWord(s string) string {
	for i := range s {
		if s[i] == ':' {
			return s[:i]
		}
	}
	return s
}

func errorf(k phalanx.Kind, object phalanx.ObjectID, format string, args ...any) *phalanx.Error {
	return &phalanx.Error{Object: object, Kind: k, Err: fmt.Errorf(format, args...)}
}
