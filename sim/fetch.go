package sim

import (
	"fmt"
	"slices"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/owner"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/transfer"
)

// growStep is the step in which room for an object of unknown size is reserved.
const growStep = 24

// fetch is one object on its way to a node: a Receiver, its buffer and its
// callers.
type fetch struct {
	n        *node
	object   phalanx.ObjectID
	core     *transfer.Receiver
	buf      *copied
	callers  []*call
	wish     *wish
	inline   []byte // that came with the last answer
	inlineIn uint64 // the epoch in which its owner lists this node with them
	dead     bool   // it has panicked

	stream uint64
	sender phalanx.NodeID
	lease  uint64
	gen    phalanx.Generation // as last opened: never falls
	locate uint64             // the last
}

// get begins to fetch for a caller, or joins what is on its way.
func (n *node) get(c *call, wait bool) {
	if have := n.table[c.object]; have != nil {
		have.used = n.w.now
		n.w.met["get of a local copy"]++
		n.w.end(c, nil, have.Gen, have.bytes)
		return
	}
	f := n.fetches[c.object]
	if f == nil {
		f = &fetch{n: n, object: c.object, buf: &copied{Object: c.object}}
		f.buf.upstream = func() (phalanx.NodeID, uint64) { return f.sender, f.lease }
		room := int64(0)
		if n.memory.try(f.buf, n.w.shape.inline) {
			room = n.w.shape.inline
		}
		f.core = transfer.NewReceiver(transfer.Config{Self: n.id, Object: c.object, Room: room, FirstNum: n.client.numbers()})
		n.fetches[c.object] = f
	} else {
		n.w.met["get joins a transfer"]++
	}
	f.callers = append(f.callers, c)
	f.step(transfer.Want{Caller: c.id, Wait: wait})
}

// served gives every caller the complete copy that a Put has made here.
func (f *fetch) served(c *copied) {
	for len(f.callers) > 0 {
		caller := f.callers[0]
		f.callers = f.callers[1:]
		f.n.w.met["get served by a put here"]++
		if caller.pin == c.Gen {
			c.Copies = max(c.Copies, caller.copies)
		}
		if caller.pin == c.Gen && !c.Pinned && !f.n.refuses {
			c.Pinned = true
			f.n.announceComplete(c)
		}
		f.n.w.end(caller, nil, c.Gen, c.bytes)
		f.step(transfer.Leave{Caller: caller.id})
	}
}

// silent turns every caller away if this is still what they wait for.
func (f *fetch) silent(num uint64, err *phalanx.Error) {
	if f.core.Locating() == num {
		for _, c := range slices.Clone(f.callers) {
			f.leave(c, err)
		}
	}
}

// panics ends the fetch as if its actor had panicked.
func (f *fetch) panics() {
	n := f.n
	if f.stream != 0 {
		n.in[f.stream].over = true
		n.in[f.stream].pipe.write(closing{f.stream})
	}
	f.forgetWish()
	f.dead = true
	delete(n.fetches, f.object)
	n.drop(f.buf)
	n.client.cancel(f.locate, f.object)
	if !f.buf.Gen.IsZero() {
		f.carryOut(transfer.ReportDrop{Gen: f.buf.Gen})
	}
	callers := f.callers
	f.callers = nil
	for _, c := range callers {
		c.excused = true
		n.w.end(c, errorf(phalanx.ErrInternal, f.object, "the actor that fetched it failed"), phalanx.Generation{}, nil)
	}
}

// leave ends the wait of one caller.
func (f *fetch) leave(c *call, err *phalanx.Error) {
	f.callers = slices.DeleteFunc(f.callers, func(x *call) bool { return x == c })
	f.n.w.end(c, err, phalanx.Generation{}, nil)
	f.step(transfer.Leave{Caller: c.id})
}

func (f *fetch) pushed(p directory.Push) {
	if heard, ok := owner.Order(p); ok {
		f.step(heard)
	}
}

func (f *fetch) step(ev transfer.Event) {
	if f.core.Over() || f.dead {
		return
	}
	for _, e := range f.core.Step(f.n.clock(), ev) {
		f.carryOut(e)
	}
	if f.core.Over() && f.n.fetches[f.object] == f {
		delete(f.n.fetches, f.object)
	}
}

func (f *fetch) carryOut(e transfer.Effect) {
	n := f.n
	if m, ok := owner.OfFetch(e); ok {
		f.message(m)
	}
	switch e := e.(type) {
	case transfer.ReportDone:
		f.stream, f.sender, f.lease = 0, "", 0
	case transfer.ReportFailed:
		n.w.met["sender lost: "+firstWord(e.Reason)]++
		f.stream, f.sender, f.lease = 0, "", 0
	case transfer.ReportCorrupt:
		n.w.fail("(3) %s has every piece of %s@%v and the digest %v", n.id, f.object, e.Gen, e.Digest)
	case transfer.Reserve:
		f.reserve(e.Bytes)
	case transfer.Open:
		f.open(e)
	case transfer.Close:
		n.in[e.Stream].pipe.write(closing{e.Stream})
		f.stream, f.sender, f.lease = 0, "", 0
	case transfer.Clear:
		if f.buf.Gen.Less(e.Before) {
			n.w.met["prefix cleared: "+e.Kind.Error()]++
			f.clear()
		}
	case transfer.TakeInline:
		n.w.met["inline"]++
		if f.buf.Gen == e.Gen && len(f.buf.bytes) > 0 { // those that read it here would lose it
			n.w.fail("(25) %s has read %d bytes of %s@%v, which is inline", n.id, len(f.buf.bytes), f.object, e.Gen)
		}
		f.clear()
		f.buf.Gen, f.buf.Meta, f.buf.bytes = e.Gen, e.Meta, f.inline
	case transfer.Complete:
		f.complete(e)
	case transfer.Discard:
		f.forgetWish()
		n.drop(f.buf)
	case transfer.Fail:
		callers := f.callers
		f.callers = nil
		for _, c := range callers {
			n.w.end(c, e.Err, phalanx.Generation{}, nil)
		}
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

func (f *fetch) answered(num uint64) func(phalanx.NodeID, directory.Result) {
	return func(from phalanx.NodeID, r directory.Result) {
		f.inline, f.inlineIn = r.Inline, r.Listed
		if r.Waiting {
			f.n.w.met["locate waits: "+r.State.String()]++
		}
		f.step(owner.Answered(num, from, r))
	}
}

// message sends something to the owner.
func (f *fetch) message(m owner.Message) {
	c := f.n.client
	switch m.How {
	case owner.Await:
		f.locate = m.Num
		c.ask(m.Num, f.object, m.Body, f.answered(m.Num))
		c.impatient(m.Num, func(err *phalanx.Error) { f.silent(m.Num, err) })
	case owner.List:
		c.report(f.object, m.Body, func(from phalanx.NodeID, r directory.Result) {
			f.step(transfer.Listed{Of: m.Gen, Answered: owner.Answered(0, from, r)})
		})
	case owner.Unkeep:
		if others := f.n.copies(f.object); !slices.ContainsFunc(others, func(o *copied) bool { return o != f.buf && o.Gen == m.Gen }) {
			c.report(f.object, m.Body, nil)
		}
	default:
		f.n.message(f.object, m)
	}
}

func (f *fetch) reserve(bytes int64) {
	n := f.n
	if bytes == phalanx.UnknownSize {
		bytes = f.buf.room + growStep
	} else if len(f.buf.bytes) == 0 {
		n.memory.release(f.buf) // nothing is held while waiting for the whole
	}
	f.wish = n.memory.reserve(f.buf, bytes, func(err *phalanx.Error) {
		f.wish = nil
		n.after(0, func() { // not in the middle of a step
			if err != nil {
				f.step(transfer.NoRoom{Err: err})
			} else {
				f.step(transfer.Reserved{Bytes: bytes})
			}
			n.w.step(n, "room")
		})
	})
}

func (f *fetch) forgetWish() {
	if f.wish != nil {
		f.n.memory.forget(f.wish)
		f.wish = nil
	}
}

// clear forgets the bytes of the present generation; its room stays.
func (f *fetch) clear() {
	f.n.cutStreams(f.buf)
	f.buf.bytes, f.buf.whole, f.buf.Digest = nil, false, phalanx.Digest{}
	f.buf.Gen = phalanx.Generation{}
}

func (f *fetch) open(e transfer.Open) {
	n := f.n
	if e.Gen.Less(f.gen) {
		n.w.fail("(15) %s opens %s@%v after %v", n.id, f.object, e.Gen, f.gen)
	}
	f.gen = e.Gen
	f.buf.Gen, f.buf.Meta = e.Gen, e.Meta
	f.stream, f.sender, f.lease = e.Stream, e.Sender, e.Lease
	f.pathChanged([]phalanx.NodeID{e.Sender})
	in := &incoming{f: f, heard: n.w.now, pipe: &pipe{w: n.w, from: n.id, to: e.Sender}}
	n.in[e.Stream] = in
	in.pipe.write(open{stream: e.Stream, object: f.object, gen: e.Gen, offset: int64(len(f.buf.bytes)),
		lease: e.Lease, beside: e.Beside, checked: e.Checked})
}

func (f *fetch) complete(e transfer.Complete) {
	n := f.n
	inline := e.Meta.Size < n.w.shape.inline && !f.buf.whole
	f.buf.Gen, f.buf.Meta, f.buf.Digest = e.Gen, e.Meta, e.Digest
	f.stream, f.sender, f.lease = 0, "", 0
	f.buf.upstream = nil
	f.forgetWish()
	callers := f.callers
	f.callers = nil
	delete(n.fetches, f.object)
	pin := slices.ContainsFunc(callers, func(c *call) bool { return c.pin == e.Gen }) && !n.refuses
	f.buf.Pinned = f.buf.Pinned || pin
	for _, c := range callers {
		if c.pin == e.Gen {
			f.buf.Copies = max(f.buf.Copies, c.copies)
		}
	}
	n.keep(f.buf)
	unlisted := inline && owner.Unlisted(f.inlineIn, n.client.epoch(f.object))
	if inline && !unlisted {
		n.w.met["inline, listed by the answer"]++
	}
	if (pin || unlisted) && n.table[f.object] == f.buf {
		n.announceComplete(f.buf)
	}
	for _, c := range callers {
		n.w.end(c, nil, e.Gen, f.buf.bytes)
	}
}

// downstream tells the core how many read from it.
func (f *fetch) downstream() {
	f.step(transfer.Downstream{Streams: f.n.serving(f.buf)})
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
