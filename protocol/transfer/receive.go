package transfer

import (
	"fmt"

	"github.com/phalanx-go/phalanx"
)

// end goes on after a stream: with the missing bytes, from another sender.
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
	case BadPiece: // asked for once more, of the same sender
		if r.checks != e.Held {
			r.read(sender, lease, r.beside, e.Held)
			return
		}
	}
	reason := e.Why.String()
	if e.Text != "" {
		reason += ": " + e.Text
	}
	r.emit(ReportFailed{Num: r.next(), Lease: lease, Reason: reason})
	r.failed = lease
	if e.Why != Busy && e.Why != Superseded { // such senders are well
		r.loses(sender, e.Why, e.Held)
	}
	r.search()
}

func (r *Receiver) loses(sender phalanx.NodeID, why Why, held int64) {
	if !r.lost {
		r.lost, r.lostAt = true, r.now
	}
	r.emit(SenderLost{Sender: sender, Why: why, Held: held})
}

// supply takes the rest from a Put of this node. Others may have been sent here
// since the owner lists the copy as complete, so it must become so, even without
// callers and without the sender.
func (r *Receiver) supply(p Supplied) {
	final := Pushed{Order: OrderFinal, Gen: p.Gen, Meta: p.Meta, Digest: p.Digest}
	switch {
	case p.Gen != r.gen || r.gen.IsZero():
		return
	case !r.digest.IsZero(): // every byte is here, and the owner's answer to the Put says that it is final
		r.pushed(final)
		return
	case r.phase == locating:
		r.emit(Cancel{Num: r.locate})
	case r.stream != 0:
		r.emit(Close{Stream: r.stream})
	}
	r.stream, r.ended, r.phase, r.own = 0, 0, whole, true
	r.final = &final
	if r.retiring {
		r.retire(false)
	}
	r.emit(Supply{Gen: p.Gen})
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
	switch { // the answer may bring Final
	case r.final != nil:
	case r.lease != 0:
		r.emit(ReportDone{Num: r.next(), Lease: r.lease, Gen: r.gen, Rate: r.rate})
		r.lease, r.sender = 0, ""
	default:
		r.emit(Announce{Num: r.next(), Gen: r.gen, Begun: true, Retiring: r.retiring})
	}
	r.settle()
}

// settle completes the copy once its bytes and the owner's record are there.
func (r *Receiver) settle() {
	if r.final == nil || r.digest.IsZero() {
		return
	}
	if r.final.Digest != r.digest { // each piece passed its check: its origin is to blame
		r.emit(ReportCorrupt{Num: r.next(), Gen: r.gen, Digest: r.digest})
		r.fail(&phalanx.Error{Object: r.cfg.Object, Node: r.origin, Kind: phalanx.ErrCorrupt,
			Err: fmt.Errorf("the origin finished the object with digest %v, but its bytes have %v", r.final.Digest, r.digest)})
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
		r.raise(after(p.Gen))
		if !r.gen.IsZero() && !p.Gen.Less(r.gen) {
			r.startOver(after(p.Gen), phalanx.ErrAborted)
		}
	case OrderDrop:
		if r.raise(after(p.Gen)); r.gen.IsZero() || p.Gen.Less(r.gen) {
			return // waiting callers hear it from the owner, or get a later object
		}
		leased := r.lease != 0
		r.closeStream()
		if leased || r.phase == locating {
			r.emit(Cancel{Num: r.locate}) // or a late copy of it, as in fail
		}
		r.phase = over
		r.emit(Fail{Err: &phalanx.Error{Object: r.cfg.Object, Kind: phalanx.ErrDeleted, Err: fmt.Errorf("the object was deleted")}})
		r.emit(Discard{})
	}
}

// listed takes the owner's answer to this node's report of its copy as the order that
// the answer implies.
func (r *Receiver) listed(l Listed) {
	p := Pushed{Gen: l.Gen, Meta: l.Meta, Digest: l.Digest}
	switch {
	case l.Kind != 0 || l.Waiting:
		return
	case l.State == Deleted: // its generation may have been lost with the shard
		p.Order = OrderDrop
		if p.Gen.Less(l.Of) {
			p.Gen = l.Of
		}
	case l.State == Unbound:
		p.Order, p.Gen = OrderAbort, l.Of
	case l.Of.Less(l.Gen):
		p.Order = OrderReset
	case l.State == Finished || l.State == Lost: // lost, as long as this copy is not complete
		p.Order = OrderFinal
	default:
		return
	}
	r.pushed(p)
}

// after returns the least generation that is greater than g.
func after(g phalanx.Generation) phalanx.Generation {
	return phalanx.Generation{Epoch: g.Epoch, Seq: g.Seq + 1}
}

func (r *Receiver) raise(floor phalanx.Generation) {
	if r.floor.Less(floor) {
		r.floor = floor
	}
}

// startOver forgets the prefix and looks for the next generation. Readers of the prefix
// have gone with it; if no caller waits here, none is left.
func (r *Receiver) startOver(before phalanx.Generation, kind phalanx.Kind) {
	r.closeStream()
	r.forget(before, kind)
	if len(r.callers) == 0 {
		r.abandon()
		return
	}
	if r.phase != reserving {
		if r.phase == locating {
			r.emit(Cancel{Num: r.locate})
		}
		r.search()
	}
}

// move looks for another sender, as the owner wants.
func (r *Receiver) move(m Move) {
	if r.phase != reading || r.lease != m.Lease {
		return
	}
	r.loses(r.sender, Slow, m.Held)
	r.closeStream()
	r.emit(Cancel{Num: r.locate})
	r.search()
}

// corrupted starts over: the prefix has changed since it was checked. The owner may list a complete
// copy here, or send others to what has gone, and nobody may be left here to ask it for a sender.
func (r *Receiver) corrupted(e Corrupted) {
	if e.Gen == r.gen && !r.gen.IsZero() {
		if r.lease != 0 {
			r.emit(Cancel{Num: r.locate})
		}
		r.emit(ReportDrop{Num: r.next(), Gen: r.gen})
		r.raise(e.Gen)
		r.startOver(after(e.Gen), phalanx.ErrCorrupt)
	}
}
