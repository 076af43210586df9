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

// Event is everything that can happen to a Receiver.
type Event interface{ event() }

type (
	// Want tells of a local caller. Unless Wait, an id that nobody has begun is
	// ErrNotFound.
	Want struct {
		Caller uint64
		Wait   bool
	}
	// Leave tells that a caller has gone away.
	Leave struct{ Caller uint64 }
	// Downstream tells how many receivers are reading from this copy.
	Downstream struct{ Streams int }
	// Reserved answers Reserve.
	Reserved struct{ Bytes int64 }
	// NoRoom answers Reserve with an error.
	NoRoom struct{ Err *phalanx.Error }
	// Ended tells that a stream is over.
	Ended struct {
		Stream uint64
		Why    Why
		Gen    phalanx.Generation // Superseded: the sender's
		Held   int64              // the watermark: bytes that are there and checked
		Text   string
	}
	// Whole tells that every byte of Gen is there and checked, and their digest.
	Whole struct {
		Gen    phalanx.Generation
		Size   int64
		Digest phalanx.Digest
	}
)

// Why says how a stream ended.
type Why uint8

// The ends of a stream.
const (
	AllSent    Why = iota // the sender has sent every byte
	Superseded            // RESET: the sender has a greater generation
	Busy                  // the sender serves another receiver
	Gone                  // the sender has no such copy
	Stalled               // silence
	Broken                // the connection failed
	BadPiece              // bytes that do not match their check
	Cycle                 // the path of WAIT contains this node
	Full                  // no room for the next step of an object of unknown size
)

var whys = [...]string{"all sent", "superseded", "busy", "gone", "stalled", "broken", "bad piece", "cycle", "full"}

// String returns a word for w.
func (w Why) String() string { return whys[w] }

func (Want) event()       {}
func (Leave) event()      {}
func (Downstream) event() {}
func (Answered) event()   {}
func (Reserved) event()   {}
func (NoRoom) event()     {}
func (Ended) event()      {}
func (Whole) event()      {}
func (Pushed) event()     {}

// Effect is everything a Receiver asks its shell to do.
type Effect interface{ effect() }

type (
	// Locate asks the directory for a sender.
	Locate struct {
		Num  uint64
		Room int64
		Wait bool
	}
	// Cancel withdraws a request, and the lease that answered it.
	Cancel struct{ Num uint64 }
	// ReportDone tells the owner that a lease is over and all bytes came.
	ReportDone struct {
		Num      uint64
		Lease    uint64
		Gen      phalanx.Generation
		Complete bool
	}
	// ReportFailed tells the owner that a lease failed.
	ReportFailed struct {
		Num    uint64
		Lease  uint64
		Reason string
	}
	// ReportDrop tells the owner that the copy is gone.
	ReportDrop struct {
		Num uint64
		Gen phalanx.Generation
	}
	// Reserve asks for room for a buffer of Bytes in all; answered by Reserved or
	// NoRoom. For an object of unknown size it asks for the next step (Bytes -1).
	Reserve struct{ Bytes int64 }
	// Open reads generation Gen from Sender, from the watermark on, into the
	// buffer, which is made if there is none of Gen.
	Open struct {
		Stream uint64
		Sender phalanx.NodeID
		Lease  uint64
		Gen    phalanx.Generation
		Meta   phalanx.Meta
	}
	// Close ends a stream; it is not heard of again.
	Close struct{ Stream uint64 }
	// Clear forgets the bytes of generations before Before; streaming readers
	// of them fail with Kind.
	Clear struct {
		Before phalanx.Generation
		Kind   phalanx.Kind
	}
	// TakeInline keeps the bytes that came with the answer.
	TakeInline struct {
		Gen    phalanx.Generation
		Meta   phalanx.Meta
		Digest phalanx.Digest
	}
	// Complete makes the copy complete and gives it to every caller.
	Complete struct {
		Gen    phalanx.Generation
		Meta   phalanx.Meta
		Digest phalanx.Digest
	}
	// Fail ends the fetch for every caller.
	Fail struct{ Err *phalanx.Error }
	// Refuse ends it for one caller, who would not wait as others do.
	Refuse struct {
		Caller uint64
		Err    *phalanx.Error
	}
	// SenderLost tells of a sender that did not finish.
	SenderLost struct {
		Sender phalanx.NodeID
		Why    Why
		Held   int64
	}
	// Resumed tells that the transfer goes on with another sender.
	Resumed struct {
		Sender phalanx.NodeID
		Gen    phalanx.Generation
		After  time.Duration // since the loss
	}
)

func (Locate) effect()       {}
func (Cancel) effect()       {}
func (ReportDone) effect()   {}
func (ReportFailed) effect() {}
func (ReportDrop) effect()   {}
func (Announce) effect()     {}
func (Reserve) effect()      {}
func (Open) effect()         {}
func (Close) effect()        {}
func (Clear) effect()        {}
func (TakeInline) effect()   {}
func (Complete) effect()     {}
func (Discard) effect()      {}
func (Fail) effect()         {}
func (Refuse) effect()       {}
func (SenderLost) effect()   {}
func (Resumed) effect()      {}

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
	cfg     Config
	now     time.Duration
	phase   phase
	callers []caller
	readers int // downstream

	num    uint64 // of the last request
	locate uint64 // of the Locate in flight
	why    Answered

	room   int64
	gen    phalanx.Generation
	floor  phalanx.Generation // the owner has taken back what is less
	meta   phalanx.Meta
	digest phalanx.Digest // of the bytes that are here, in phase whole
	final  *Pushed        // what the owner recorded for gen

	stream uint64
	sender phalanx.NodeID
	lease  uint64
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
		r.ended(ev)
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
	case w.Wait && r.phase == locating && !r.why.Waiting:
		// A caller that would not wait has asked; ask again for the one that does.
		r.emit(Cancel{Num: r.locate})
		r.search()
	default:
		r.refuse()
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
	wait := slices.ContainsFunc(r.callers, func(c caller) bool { return c.wait }) || !r.gen.IsZero()
	r.emit(Locate{Num: r.locate, Room: r.room, Wait: wait})
}

// abandon ends the transfer once nobody is left, here or downstream (2.14).
func (r *Receiver) abandon() {
	if len(r.callers) > 0 || r.readers > 0 || r.phase == idle {
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
	case a.Gen.Less(r.floor): // overtaken by an order that took it back
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
	r.stream, r.sender, r.lease = r.next(), sender, lease
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

// ended goes on after a stream: with what is missing, from another sender.
func (r *Receiver) ended(e Ended) {
	if r.phase != reading || e.Stream != r.stream {
		return
	}
	sender, lease := r.sender, r.lease
	r.stream, r.sender, r.lease = 0, "", 0
	switch e.Why {
	case AllSent:
		// Whole follows as soon as the last piece was checked.
		r.lease, r.sender = lease, sender
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
	if !r.lost {
		r.lost, r.lostAt = true, r.now
	}
	r.emit(ReportFailed{Num: r.next(), Lease: lease, Reason: e.Why.String() + ": " + e.Text})
	r.emit(SenderLost{Sender: sender, Why: e.Why, Held: e.Held})
	r.search()
}

// whole notes that every byte is there.
func (r *Receiver) whole(w Whole) {
	if w.Gen != r.gen || r.phase != whole && r.phase != reading {
		return
	}
	r.stream, r.phase = 0, whole
	r.digest = w.Digest
	if r.meta.Size == phalanx.UnknownSize {
		r.meta.Size = w.Size
	}
	if r.final == nil && r.lease != 0 {
		r.emit(ReportDone{Num: r.next(), Lease: r.lease, Gen: r.gen})
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
		r.fail(&phalanx.Error{Object: r.cfg.Object, Node: r.sender, Kind: phalanx.ErrCorrupt,
			Err: fmt.Errorf("its bytes have digest %v, it was finished with %v", r.digest, r.final.Digest)})
		return
	}
	if r.lease != 0 {
		r.emit(ReportDone{Num: r.next(), Lease: r.lease, Gen: r.gen, Complete: true})
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
		r.closeStream()
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
