package transfer

import (
	"fmt"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// Config fixes one Receiver.
type Config struct {
	Self   phalanx.NodeID
	Object phalanx.ObjectID
	// Room is what was reserved beforehand, in bytes; an object that fits is
	// leased by the first answer.
	Room int64
	// FirstNum is the number of the first request; later ones count up.
	FirstNum uint64
}

// phase is what a Receiver is waiting for.
//
//	idle → locating ⇄ reserving; locating → reading → whole → over
//	reading, whole → locating, when the sender or the generation is lost
type phase uint8

const (
	idle      phase = iota
	locating        // an answer with a sender
	reserving       // room
	reading         // bytes
	whole           // every byte is there; Final is missing
	over
)

// Receiver is one object on its way to this node.
//
// Invariant: at most one stream is open, and only in phase reading.
// Invariant: gen never falls.
type Receiver struct {
	cfg      Config
	now      time.Duration
	phase    phase
	callers  []caller
	readers  int  // downstream
	retiring bool // nobody waits here; it goes on for those downstream

	num    uint64 // of the last request
	locate uint64 // of the Locate in flight
	waits  bool   // and it waits for the object to be begun
	why    Answered

	room   int64
	gen    phalanx.Generation
	floor  phalanx.Generation // the owner has taken back what is less
	meta   phalanx.Meta
	digest phalanx.Digest // of the bytes that are here, in phase whole
	final  *Pushed        // what the owner recorded for gen

	stream uint64
	ended  uint64 // the stream that has sent all, until its last bytes are checked
	sender phalanx.NodeID
	lease  uint64
	rate   int64
	bad    map[phalanx.NodeID]int // pieces of gen that were bad, by sender
	lostAt time.Duration          // when the last sender was lost
	lost   bool

	out []Effect
}

type caller struct {
	id   uint64
	wait bool
}

// NewReceiver returns a receiver that waits for its first caller.
func NewReceiver(cfg Config) *Receiver {
	return &Receiver{cfg: cfg, num: cfg.FirstNum - 1, room: cfg.Room, bad: map[phalanx.NodeID]int{}}
}

// Over reports whether the receiver has ended, with a complete copy or without.
func (r *Receiver) Over() bool { return r.phase == over }

// Step applies ev, at now since the start of the node, and returns what the
// shell must do, in that order.
func (r *Receiver) Step(now time.Duration, ev Event) []Effect {
	r.now = max(r.now, now)
	if r.phase == over {
		return nil
	}
	switch ev := ev.(type) {
	case Want:
		r.want(ev)
	case Leave:
		r.callers = slices.DeleteFunc(r.callers, func(c caller) bool { return c.id == ev.Caller })
		r.abandon()
	case Downstream:
		r.readers = ev.Streams
		r.abandon()
	case Answered:
		r.answered(ev)
	case Reserved:
		r.reserved(ev)
	case NoRoom:
		if r.phase == reserving {
			r.fail(ev.Err)
		}
	case Ended:
		r.end(ev)
	case Whole:
		r.whole(ev)
	case Pushed:
		r.pushed(ev)
	}
	out := r.out
	r.out = nil
	return out
}

func (r *Receiver) emit(e Effect) { r.out = append(r.out, e) }

func (r *Receiver) next() uint64 {
	r.num++
	return r.num
}

func (r *Receiver) want(w Want) {
	if !slices.ContainsFunc(r.callers, func(c caller) bool { return c.id == w.Caller }) {
		r.callers = append(r.callers, caller{w.Caller, w.Wait})
	}
	switch {
	case r.phase == idle:
		r.search()
	case w.Wait && r.phase == locating && !r.waits:
		// A caller that would not wait has asked; ask again for the one that does.
		r.emit(Cancel{Num: r.locate})
		r.search()
	default:
		r.refuse()
	}
	if r.retiring && len(r.callers) > 0 {
		r.retire(false)
	}
}

// retire tells whether this copy is not to be handed out any more (2.14).
func (r *Receiver) retire(retiring bool) {
	r.retiring = retiring
	if !r.gen.IsZero() {
		r.emit(Announce{Num: r.next(), Gen: r.gen, Retiring: retiring})
	}
}

// refuse turns away the callers that would not wait, once it is known that
// nobody has begun the object.
func (r *Receiver) refuse() {
	if r.phase != locating || !r.why.Waiting || r.why.State != Unbound {
		return
	}
	var wait []caller
	for _, c := range r.callers {
		if c.wait {
			wait = append(wait, c)
			continue
		}
		r.emit(Refuse{Caller: c.id, Err: &phalanx.Error{Object: r.cfg.Object, Kind: phalanx.ErrNotFound, Err: fmt.Errorf("nobody has announced it")}})
	}
	r.callers = wait
	r.abandon()
}

// search asks for a sender.
func (r *Receiver) search() {
	r.phase = locating
	r.locate = r.next()
	r.why = Answered{}
	r.waits = slices.ContainsFunc(r.callers, func(c caller) bool { return c.wait }) || !r.gen.IsZero()
	r.emit(Locate{Num: r.locate, Room: r.room, Wait: r.waits})
}

// abandon ends the transfer once nobody is left, here or downstream (2.14).
func (r *Receiver) abandon() {
	switch {
	case r.phase == idle || len(r.callers) > 0:
		return
	case r.readers > 0:
		if !r.retiring {
			r.retire(true)
		}
		return
	}
	r.closeStream()
	if r.locate != 0 {
		r.emit(Cancel{Num: r.locate})
	}
	if !r.gen.IsZero() {
		r.emit(ReportDrop{Num: r.next(), Gen: r.gen})
	}
	r.phase = over
	r.emit(Discard{})
}

func (r *Receiver) closeStream() {
	if r.stream != 0 {
		r.emit(Close{Stream: r.stream})
		r.stream, r.sender, r.lease = 0, "", 0
	}
}

func (r *Receiver) fail(err *phalanx.Error) {
	r.closeStream()
	if !r.gen.IsZero() {
		r.emit(ReportDrop{Num: r.next(), Gen: r.gen})
	}
	r.phase = over
	r.emit(Fail{Err: err})
	r.emit(Discard{})
}

// answered takes what the directory says.
func (r *Receiver) answered(a Answered) {
	if r.phase != locating || a.Num != r.locate {
		return
	}
	switch {
	case a.Kind != 0:
		r.fail(&phalanx.Error{Object: r.cfg.Object, Kind: a.Kind, Err: fmt.Errorf("%s", a.Text)})
	case a.Waiting:
		r.why = a
		r.refuse()
	case a.Gen.Less(r.floor) || a.Gen.Less(r.gen): // overtaken by an order that took it back
		r.emit(Cancel{Num: r.locate})
		r.search()
	case a.Inline:
		r.adopt(a.Gen, a.Meta)
		r.phase = over
		r.emit(TakeInline{Gen: a.Gen, Meta: a.Meta, Digest: a.Digest})
		r.emit(Complete{Gen: a.Gen, Meta: a.Meta, Digest: a.Digest})
	case a.Lease == 0: // it does not fit into what is reserved
		r.phase = reserving
		r.emit(Reserve{Bytes: a.Meta.Size})
	default:
		r.adopt(a.Gen, a.Meta)
		if a.State == Finished {
			r.final = &Pushed{Order: OrderFinal, Gen: a.Gen, Meta: a.Meta, Digest: a.Digest}
		}
		r.read(a.Sender, a.Lease)
		if r.retiring {
			r.retire(true) // of this generation too
		}
	}
}

// adopt goes over to generation g; bytes of an older one are forgotten.
func (r *Receiver) adopt(g phalanx.Generation, m phalanx.Meta) {
	if r.gen.Less(g) {
		if !r.gen.IsZero() {
			r.emit(Clear{Before: g, Kind: phalanx.ErrReset})
		}
		r.gen, r.final, r.digest = g, nil, phalanx.Digest{}
		clear(r.bad)
	}
	r.meta = m
}

func (r *Receiver) read(sender phalanx.NodeID, lease uint64) {
	r.phase = reading
	r.stream, r.ended, r.sender, r.lease = r.next(), 0, sender, lease
	r.emit(Open{Stream: r.stream, Sender: sender, Lease: lease, Gen: r.gen, Meta: r.meta})
	if r.lost {
		r.lost = false
		r.emit(Resumed{Sender: sender, Gen: r.gen, After: r.now - r.lostAt})
	}
}

func (r *Receiver) reserved(ev Reserved) {
	if r.phase != reserving {
		return
	}
	r.room = max(r.room, ev.Bytes)
	r.search()
}

// end goes on after a stream: with what is missing, from another sender.
func (r *Receiver) end(e Ended) {
	switch {
	case r.phase == reading && e.Stream == r.stream:
	case r.phase == whole && e.Stream == r.ended && e.Why != AllSent && r.digest.IsZero():
		// Its last bytes turned out to be bad.
	default:
		return
	}
	sender, lease := r.sender, r.lease
	r.stream, r.ended, r.sender, r.lease = 0, 0, "", 0
	switch e.Why {
	case AllSent:
		// Whole follows as soon as the last piece was checked.
		r.ended, r.lease, r.sender = e.Stream, lease, sender
		r.phase = whole
		return
	case Full:
		r.emit(ReportDone{Num: r.next(), Lease: lease, Gen: r.gen})
		r.phase = reserving
		r.emit(Reserve{Bytes: phalanx.UnknownSize})
		return
	case BadPiece:
		if r.bad[sender]++; r.bad[sender] == 1 { // asked for once more, of the same sender
			r.read(sender, lease)
			return
		}
	}
	reason := e.Why.String()
	if e.Text != "" {
		reason += ": " + e.Text
	}
	r.emit(ReportFailed{Num: r.next(), Lease: lease, Reason: reason})
	if e.Why != Busy && e.Why != Superseded { // those are well
		if !r.lost {
			r.lost, r.lostAt = true, r.now
		}
		r.emit(SenderLost{Sender: sender, Why: e.Why, Held: e.Held})
	}
	r.search()
}

// whole notes that every byte is there.
func (r *Receiver) whole(w Whole) {
	switch {
	case w.Gen != r.gen || r.gen.IsZero() || !r.digest.IsZero():
		return
	case r.phase == locating: // the sender was lost as the last bytes were checked
		r.emit(Cancel{Num: r.locate})
	}
	r.stream, r.ended, r.phase = 0, 0, whole
	r.digest, r.rate = w.Digest, w.Rate
	if r.meta.Size == phalanx.UnknownSize {
		r.meta.Size = w.Size
	}
	if r.final == nil && r.lease != 0 {
		r.emit(ReportDone{Num: r.next(), Lease: r.lease, Gen: r.gen, Rate: r.rate})
		r.lease, r.sender = 0, ""
	}
	r.settle()
}

// settle completes the copy once its bytes and the owner's record are there.
func (r *Receiver) settle() {
	if r.final == nil || r.digest.IsZero() {
		return
	}
	if r.final.Digest != r.digest {
		r.fail(&phalanx.Error{Object: r.cfg.Object, Kind: phalanx.ErrCorrupt, // each piece passed its check: its origin is to blame
			Err: fmt.Errorf("its bytes have digest %v, it was finished with %v", r.digest, r.final.Digest)})
		return
	}
	if r.lease != 0 {
		r.emit(ReportDone{Num: r.next(), Lease: r.lease, Gen: r.gen, Complete: true, Rate: r.rate})
	} else {
		r.emit(Announce{Num: r.next(), Gen: r.gen, Complete: true})
	}
	r.phase = over
	r.emit(Complete{Gen: r.gen, Meta: r.final.Meta, Digest: r.digest})
}

// pushed carries out an order of the owner.
func (r *Receiver) pushed(p Pushed) {
	switch p.Order {
	case OrderFinal:
		if p.Gen == r.gen && r.final == nil {
			r.final = &p
			r.settle()
		}
	case OrderReset:
		r.raise(p.Gen)
		if r.gen.Less(p.Gen) && !r.gen.IsZero() {
			r.startOver(p.Gen, phalanx.ErrReset)
		}
	case OrderAbort:
		after := phalanx.Generation{Epoch: p.Gen.Epoch, Seq: p.Gen.Seq + 1}
		r.raise(after)
		if !r.gen.IsZero() && !p.Gen.Less(r.gen) {
			r.startOver(after, phalanx.ErrAborted)
		}
	case OrderDrop:
		if p.Gen.Less(r.gen) {
			return
		}
		r.closeStream()
		if r.phase == locating {
			r.emit(Cancel{Num: r.locate})
		}
		r.phase = over
		r.emit(Fail{Err: &phalanx.Error{Object: r.cfg.Object, Kind: phalanx.ErrDeleted, Err: fmt.Errorf("it was deleted")}})
		r.emit(Discard{})
	}
}

func (r *Receiver) raise(floor phalanx.Generation) {
	if r.floor.Less(floor) {
		r.floor = floor
	}
}

// startOver forgets the prefix and looks for the next generation.
func (r *Receiver) startOver(before phalanx.Generation, kind phalanx.Kind) {
	r.closeStream()
	r.emit(Clear{Before: before, Kind: kind})
	r.gen, r.final, r.digest = phalanx.Generation{}, nil, phalanx.Digest{}
	if r.phase != reserving {
		if r.phase == locating {
			r.emit(Cancel{Num: r.locate})
		}
		r.search()
	}
}

// Reason says what the receiver is waiting for: the text of a deadline's error.
func (r *Receiver) Reason() (node phalanx.NodeID, text string) {
	switch r.phase {
	case locating:
		switch {
		case !r.why.Waiting:
			return r.why.Node, "its directory shard has not answered"
		case r.why.State == Unbound:
			return "", "nobody has announced it"
		case r.why.State == Lost:
			return "", "every complete copy of it is lost; put it again"
		}
		return "", "no sender of it is free"
	case reserving:
		return r.cfg.Self, "there is no room for it under the memory cap"
	case reading:
		return r.sender, "its bytes have not all arrived"
	case whole:
		return "", "it is not final: its creator has not finished"
	}
	return "", "it has not been asked for"
}
