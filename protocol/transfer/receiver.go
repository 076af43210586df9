package transfer

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// Config fixes one Receiver.
type Config struct {
	Self   phalanx.NodeID
	Object phalanx.ObjectID
	// Room is the memory reserved beforehand, in bytes; an object that fits is
	// leased by the first answer.
	Room int64
	// FirstNum is the number of the first request; later ones count up.
	FirstNum uint64
}

// phase is the step for which a Receiver waits.
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
// Invariant: gen never falls, but to zero.
type Receiver struct {
	cfg      Config
	now      time.Duration
	phase    phase
	callers  []caller
	readers  int  // downstream
	retiring bool // no caller waits here; it goes on for readers downstream

	num    uint64 // of the last request
	locate uint64 // of the Locate in flight
	waits  bool   // and it waits for the object to be begun
	why    Answered

	room   int64
	gen    phalanx.Generation
	top    phalanx.Generation // the greatest that gen was
	floor  phalanx.Generation // the owner has taken back lesser ones since the Locate was sent
	meta   phalanx.Meta
	digest phalanx.Digest // of the bytes that are here, in phase whole
	final  *Pushed        // the owner's record for gen
	own    bool           // a Put of this node gives the bytes of gen, and answers for the copy

	stream uint64
	ended  uint64 // the stream that has sent all, until its last bytes are checked
	sender phalanx.NodeID
	lease  uint64
	failed uint64 // the lease that has just failed, until a Locate says so
	beside bool
	origin phalanx.NodeID // of gen, as the owner says
	rate   int64
	checks int64         // where the piece begins that the sender of the open stream checks; -1: nowhere
	lostAt time.Duration // when the last sender was lost
	lost   bool

	out []Effect
}

type caller struct {
	id    uint64
	wait  bool
	asked bool // it was here when the Locate in flight was sent: a "no" is for it too
}

// NewReceiver returns a receiver that waits for its first caller.
func NewReceiver(cfg Config) *Receiver {
	return &Receiver{cfg: cfg, num: cfg.FirstNum - 1, room: cfg.Room}
}

// Over reports whether the receiver has ended, with a complete copy or without.
func (r *Receiver) Over() bool { return r.phase == over }

// Locating returns the number of the Locate whose answer the receiver waits for; 0 if
// it waits for none.
func (r *Receiver) Locating() uint64 {
	if r.phase != locating {
		return 0
	}
	return r.locate
}

// Arriving reports whether the receiver waits for bytes of another node, or for the
// word of the owner that they are final.
func (r *Receiver) Arriving() bool { return r.phase == reading || r.phase == whole && !r.own }

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
	case Move:
		r.move(ev)
	case Corrupted:
		r.corrupted(ev)
	case Supplied:
		r.supply(ev)
	case Whole:
		r.whole(ev)
	case Pushed:
		r.pushed(ev)
	case Listed:
		r.listed(ev)
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
		r.callers = append(r.callers, caller{id: w.Caller, wait: w.Wait})
	}
	switch {
	case r.phase == idle:
		r.search()
	case w.Wait && r.phase == locating && !r.waits,
		!w.Wait && r.phase == locating && r.why.Waiting && r.why.State == Unbound:
		// A caller that would not wait has asked, and this one would: ask again.
		// Or it would not, and the answer to others may be old.
		r.emit(Cancel{Num: r.locate})
		r.search()
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

// refuse turns away the callers that would not wait, since the object is unbound; or all,
// since it was deleted. A caller that came after the question may have seen it begun
// since: the receiver asks again for such callers.
func (r *Receiver) refuse(kind phalanx.Kind, text string) {
	stay := r.callers[:0]
	again := false
	for _, c := range r.callers {
		if waits := c.wait && kind != phalanx.ErrDeleted; waits || !c.asked {
			stay, again = append(stay, c), again || !waits
			continue
		}
		r.emit(Refuse{Caller: c.id, Err: &phalanx.Error{Object: r.cfg.Object, Kind: kind, Err: errors.New(text)}})
	}
	r.callers = stay
	if again || len(stay) > 0 && !r.why.Waiting {
		r.emit(Cancel{Num: r.locate})
		r.search()
	}
	r.abandon()
}

// forget drops the prefix, and with it its readers.
func (r *Receiver) forget(before phalanx.Generation, kind phalanx.Kind) {
	r.emit(Clear{Before: before, Kind: kind})
	r.gen, r.final, r.digest, r.own, r.readers = phalanx.Generation{}, nil, phalanx.Digest{}, false, 0
}

// search asks for a sender.
func (r *Receiver) search() {
	r.phase = locating
	r.floor = phalanx.Generation{} // the owner has taken that back before it is asked
	for i := range r.callers {
		r.callers[i].asked = true
	}
	r.locate = r.next()
	r.why = Answered{}
	r.waits = slices.ContainsFunc(r.callers, func(c caller) bool { return c.wait }) || !r.gen.IsZero()
	r.emit(Locate{Num: r.locate, Room: r.room, Wait: r.waits, Failed: r.failed})
	r.failed = 0
}

// abandon ends the transfer once no reader is left, here or downstream (2.14).
func (r *Receiver) abandon() {
	switch {
	case r.phase == idle || len(r.callers) > 0 || r.own:
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
	leased := r.lease != 0
	r.closeStream()
	if leased {
		r.emit(Cancel{Num: r.locate}) // no node would withdraw a late copy of the request that the lease has answered
	}
	if !r.gen.IsZero() {
		r.emit(ReportDrop{Num: r.next(), Gen: r.gen})
	}
	r.phase = over
	r.emit(Fail{Err: err})
	r.emit(Discard{})
}

// answered takes the directory's answer.
func (r *Receiver) answered(a Answered) {
	if r.phase != locating || a.Num != r.locate {
		return
	}
	switch {
	case (a.Kind == phalanx.ErrNotFound || a.Kind == phalanx.ErrDeleted) && slices.ContainsFunc(r.callers, func(c caller) bool { return !c.asked }):
		r.refuse(a.Kind, a.Text)
	case a.Kind != 0:
		r.fail(&phalanx.Error{Object: r.cfg.Object, Kind: a.Kind, Err: fmt.Errorf("%s", a.Text)})
	case a.Waiting:
		if r.why = a; a.State == Unbound {
			if !r.gen.IsZero() { // taken back, and the owner did not have this node on its list; readers here would wait for good
				r.forget(after(r.gen), phalanx.ErrAborted)
			}
			r.refuse(phalanx.ErrNotFound, "nobody has announced it")
		}
	case a.Gen.Less(r.floor): // overtaken by an order that took it back
		r.emit(Cancel{Num: r.locate})
		r.search()
	case a.Gen.Less(r.top): // the shard was lost, and rebuilt from the remaining copies
		r.emit(Cancel{Num: r.locate})
		r.fail(&phalanx.Error{Object: r.cfg.Object, Node: a.Node, Kind: phalanx.ErrLost,
			Err: fmt.Errorf("the directory has generation %v, which is older than %v, which this node has read", a.Gen, r.top)})
	case a.Inline:
		r.adopt(a.Gen, a.Meta)
		r.phase = over
		r.emit(TakeInline{Gen: a.Gen, Meta: a.Meta, Digest: a.Digest})
		r.emit(Complete{Gen: a.Gen, Meta: a.Meta, Digest: a.Digest})
	case a.Lease == 0: // it does not fit into the reserved memory
		r.phase = reserving
		r.emit(Reserve{Bytes: a.Meta.Size})
	default:
		r.adopt(a.Gen, a.Meta)
		if len(r.callers) == 0 && r.readers == 0 { // the last reader downstream has gone
			r.abandon()
			return
		}
		if a.State == Finished {
			r.final = &Pushed{Order: OrderFinal, Gen: a.Gen, Meta: a.Meta, Digest: a.Digest}
		}
		r.origin = a.Origin
		r.read(a.Sender, a.Lease, a.Beside, -1)
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
		r.gen, r.final, r.digest, r.own, r.readers = g, nil, phalanx.Digest{}, false, 0
		r.top = g
	}
	r.meta = m
}

// read opens a stream. Its sender checks the piece that begins at checks, if that is not -1.
func (r *Receiver) read(sender phalanx.NodeID, lease uint64, beside bool, checks int64) {
	r.phase = reading
	r.stream, r.ended, r.sender, r.lease, r.beside, r.checks = r.next(), 0, sender, lease, beside, checks
	r.emit(Open{Stream: r.stream, Sender: sender, Lease: lease, Beside: beside, Checked: checks >= 0, Gen: r.gen, Meta: r.meta})
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

// Reserving reports whether the receiver waits for room.
func (r *Receiver) Reserving() bool { return r.phase == reserving }

// Origin returns the maker of the object that is read, if the owner has named it.
func (r *Receiver) Origin() phalanx.NodeID { return r.origin }

// Reason names the answer for which the receiver waits: the text of a deadline's error.
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
		return r.cfg.Self, "the object does not fit under the memory cap"
	case reading:
		return r.sender, "its bytes have not all arrived"
	case whole:
		return r.origin, "the object is not final: its creator has not finished"
	}
	return "", "it has not been asked for"
}
