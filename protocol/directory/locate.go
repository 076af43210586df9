package directory

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// lease is the permission for one receiver to read from one sender.
type lease struct {
	id       uint64
	sender   phalanx.NodeID
	receiver phalanx.NodeID
	num      uint64 // the Locate that it answered
	heard    time.Duration
	asked    time.Duration
	slow     bool // does not count against the sender's limit (2.13)
	reported bool // as slow
}

// bar keeps a pair apart that failed.
type bar struct {
	sender, receiver phalanx.NodeID
	until, forget    time.Duration
	length           time.Duration
}

// locate answers with inline bytes, a lease, a size, or queues the request
// (specification 1.9, 2.7–2.12).
func (s *Shard) locate(o *object, r Request, l Locate) {
	if o.outdone(r) {
		return
	}
	o.waiters = slices.DeleteFunc(o.waiters, func(w Request) bool { return w.From == r.From && w.Num < r.Num })
	s.gets(o, r.From, l.Down)
	if held := o.leaseOf(r.From); held != nil && held.id == l.Failed {
		s.fail(o, held)
	}
	if s.answer(o, r, l) || s.bypass(o, r.From) && s.answer(o, r, l) {
		s.serve(o) // others may read from the receiver that got the answer
		return
	}
	if !l.Wait && s.state(o) == Unbound && len(s.warming) == 0 {
		s.reject(r, o, phalanx.ErrNotFound, "nobody has announced it")
		return
	}
	s.waitFor(&o.waiters, r, o)
	s.relieve(o)
}

// outdone reports whether r is a late copy, since From has asked anew for the object: the owner
// may have forgotten the end of the lease that answered r, and no node would cancel r.
func (o *object) outdone(r Request) bool {
	return slices.ContainsFunc(o.waiters, func(w Request) bool { return w.From == r.From && w.Num > r.Num }) ||
		slices.ContainsFunc(o.over, func(e ended) bool { return e.located && e.node == r.From && e.num > r.Num })
}

// answer reports whether it could answer r at once.
func (s *Shard) answer(o *object, r Request, l Locate) bool {
	switch st := s.state(o); {
	case st == Deleted:
		s.reject(r, o, phalanx.ErrDeleted, "the object was deleted")
		return true
	case st == Unbound:
		return false
	case o.rec.Meta.Size > l.Room:
		s.reply(r, s.known(o))
		return true
	case o.rec.Inline:
		res := s.known(o)
		res.Inline, res.Listed = o.rec.Bytes, s.enlist(o, r)
		s.reply(r, res)
		return true
	}
	if held := o.leaseOf(r.From); held != nil {
		switch {
		case held.num == r.Num:
			s.grant(o, r, held)
			return true
		case r.Num < held.num:
			return true // a late copy of an earlier request of its receiver
		}
		o.endLease(held) // its receiver has gone on to a new request
	}
	h := s.choose(o, r.From)
	if h == nil {
		return false
	}
	me := o.hold(r.From, o.rec.Gen) // before the lease: it ends leases of an older generation
	s.leaseSeq++
	ls := &lease{id: s.view.Epoch<<32 | s.leaseSeq, sender: h.node, receiver: r.From, num: r.Num, heard: s.now,
		slow: s.lags(r.From) && !o.servesSlow(h.node)}
	o.leases = append(o.leases, ls)
	me.upstream = h.node
	s.grant(o, r, ls)
	return true
}

// enlist lists the copy that From has once it gets the inline bytes that answer r, and
// returns the epoch in which it did. That saves From to announce the copy, which it
// must where it is not listed, or another epoch has begun by the time it has it. A Delete
// reaches it in any case: before it has announced the copy a reader can have it.
func (s *Shard) enlist(o *object, r Request) uint64 {
	if absent := s.absent(r.From); absent || len(s.warming) > 0 || slices.Contains(o.rec.Evicted, r.From) || o.stale(r) {
		if !absent && !slices.Contains(o.given, r.From) {
			o.given = append(o.given, r.From)
		}
		return 0
	}
	if h := o.holder(r.From); h == nil || h.gen != o.rec.Gen || !h.complete || !h.told {
		o.claim(r.From, r.Num, false)
		s.notify(o)
	}
	return s.view.Epoch
}

func (s *Shard) grant(o *object, r Request, l *lease) {
	res := s.known(o)
	res.Lease, res.Sender = l.id, l.sender
	res.Beside = o.servesSlow(l.sender)
	s.reply(r, res)
}

// choose returns the holder from which the receiver may read: a complete copy before a
// partial one, among these a holder that is not slow itself, among equal ones a member that
// stays, among these the fastest measured one. It never returns a holder whose chain of upstreams
// contains the receiver, and a partial one only if its chain ends at a complete copy or the origin.
func (s *Shard) choose(o *object, receiver phalanx.NodeID) *holder {
	var best *holder
	for _, h := range o.holders {
		switch {
		case h.gen != o.rec.Gen || h.retiring && !h.complete || h.node == receiver || o.leasedTo(h.node) >= s.cfg.Fanout || s.barred(o, h.node, receiver):
		case !h.complete && (len(s.warming) > 0 || !o.flows(h, receiver)):
		case best == nil || h.complete && !best.complete:
			best = h
		case h.complete != best.complete:
		case !h.complete && s.drags(o, h.node) != s.drags(o, best.node):
			if s.drags(o, best.node) {
				best = h
			}
		case s.leaves(h.node) != s.leaves(best.node):
			if s.leaves(best.node) {
				best = h
			}
		case s.faster(h.node, best.node):
			best = h
		}
	}
	return best
}

// flows reports whether h's bytes come from a complete copy or the origin,
// and not from not.
func (o *object) flows(h *holder, not phalanx.NodeID) bool {
	for range o.holders {
		switch {
		case h.node == not:
			return false
		case h.complete || h.origin:
			return true
		case h.upstream == "":
			return false
		}
		next := o.holder(h.upstream)
		if next == nil || next.gen != h.gen {
			return false
		}
		h = next
	}
	return false
}

func (s *Shard) barred(o *object, sender, receiver phalanx.NodeID) bool {
	return slices.ContainsFunc(o.bars, func(b bar) bool {
		return b.sender == sender && b.receiver == receiver && b.until > s.now
	})
}

// leasedTo counts the receivers of sender n, as far as they count.
func (o *object) leasedTo(n phalanx.NodeID) int {
	count := 0
	for _, l := range o.leases {
		if l.sender == n && !l.slow {
			count++
		}
	}
	return count
}

func (o *object) leaseOf(receiver phalanx.NodeID) *lease {
	for _, l := range o.leases {
		if l.receiver == receiver {
			return l
		}
	}
	return nil
}

func (o *object) endLease(l *lease) {
	o.leases = slices.DeleteFunc(o.leases, func(m *lease) bool { return m == l })
	if h := o.holder(l.receiver); h != nil && h.upstream == l.sender {
		h.upstream = ""
	}
}

// serve answers the waiting receivers that can be answered now, in order. It
// follows every change of the locations.
func (s *Shard) serve(o *object) {
	s.checkLost(o)
	for progress := s.acts(); progress; {
		progress = false
		for i, r := range o.waiters {
			if s.answer(o, r, r.Body.(Locate)) {
				o.waiters = slices.Delete(o.waiters, i, i+1)
				progress = true
				break
			}
		}
	}
	s.relieve(o)
}

// announce lists From's copy (2.8).
func (s *Shard) announce(o *object, r Request, a Announce) {
	if (o.rec.State == Begun || o.rec.State == Finished) && o.rec.Gen == a.Gen && !o.stale(r) {
		if a.Complete && s.readmit(o, r.From, func() { s.announce(o, r, a) }) {
			return
		}
		h := o.hold(r.From, a.Gen)
		// The origin of a final object has every byte. Only a drop or a grant to
		// evict ends a complete copy.
		h.complete = h.complete || (a.Complete || a.Origin) && o.rec.State == Finished
		h.kept = h.kept || a.Pinned || a.Origin && h.complete
		h.pinned = h.pinned || h.kept
		h.origin = a.Origin && !h.complete
		if a.Origin {
			o.maker, h.makes = r.From, a.Meta
		}
		h.begun = h.begun || a.Begun || h.complete
		h.retiring = a.Retiring && !h.complete
		if h.complete {
			if l := o.leaseOf(r.From); l != nil {
				o.endLease(l)
			}
			o.pushes = slices.DeleteFunc(o.pushes, func(p *push) bool { // it has got the object again since
				return p.To == r.From && p.Order == PushAbort && p.Gen == a.Gen
			})
		}
		if a.Origin {
			if l := o.leaseOf(r.From); l != nil {
				o.endLease(l)
			}
		}
		defer func() { s.serve(o); s.notify(o); s.keepCopies(o) }()
	}
	res := s.known(o)
	if a.Pinned { // it keeps the answer of a reduce with its copy
		res.Note = o.rec.Note
	}
	s.reply(r, res)
}

// done ends a lease whose bytes have arrived.
func (s *Shard) done(o *object, r Request, d Done) {
	if l := o.leaseOf(r.From); l != nil && l.id == d.Lease {
		s.measured(l.sender, d.Rate)
		if !l.reported {
			delete(s.slowly, l.receiver)
		}
		o.end(l.receiver, l.num, s.now)
		o.endLease(l)
	}
	s.announce(o, r, Announce{Gen: d.Gen, Complete: d.Complete, Begun: true})
}

// failed ends the lease that it names and bars the pair (2.10). A stale report
// changes nothing; no report delists a sender.
func (s *Shard) failed(o *object, r Request, f Failed) {
	for _, l := range o.leases {
		if l.id != f.Lease || (r.From != l.sender && r.From != l.receiver) {
			continue
		}
		s.fail(o, l)
		s.serve(o)
		break
	}
	s.reply(r, s.known(o))
}

// fail ends a lease that has failed, and bars its sender for its receiver.
func (s *Shard) fail(o *object, l *lease) {
	o.end(l.receiver, l.num, s.now) // its receiver had the answer, also if another node reports
	o.endLease(l)
	s.bar(o, l.sender, l.receiver)
}

func (s *Shard) bar(o *object, sender, receiver phalanx.NodeID) {
	for i := range o.bars {
		if b := &o.bars[i]; b.sender == sender && b.receiver == receiver {
			b.length = min(2*b.length, longestBar)
			b.until, b.forget = s.now+b.length, s.now+b.length+longestBar
			return
		}
	}
	o.bars = append(o.bars, bar{sender, receiver, s.now + firstBar, s.now + firstBar + longestBar, firstBar})
}

// cancel ends a waiting request, or its answer: a lease, a binding.
func (s *Shard) cancel(o *object, from phalanx.NodeID, num uint64) {
	e := o.end(from, num, s.now)
	mine := func(r Request) bool { return r.From == from && r.Num == num }
	e.located = e.located || slices.ContainsFunc(o.waiters, mine)
	o.waiters = slices.DeleteFunc(o.waiters, mine)
	o.creators = slices.DeleteFunc(o.creators, mine)
	o.awaiting = slices.DeleteFunc(o.awaiting, mine)
	o.queue = slices.DeleteFunc(o.queue, mine)
	o.watchers = slices.DeleteFunc(o.watchers, func(w *watcher) bool { return w.to == from && w.num == num })
	if l := o.leaseOf(from); l != nil && l.num == num {
		o.endLease(l)
		s.serve(o)
	}
	if o.disclaim(from, num) { // it has not taken the answer's copy
		s.notify(o)
		s.keepCopies(o)
	}
	if o.rec.State == Begun && o.rec.Origin == from && o.rec.OriginNum == num && o.change == nil {
		s.release(o, 0, nil)
	}
}

// askLeases asks about leases that have been quiet for long (2.9).
func (s *Shard) askLeases(o *object) {
	for _, l := range o.leases {
		if s.now-l.heard >= leaseQuiet && s.now-l.asked >= askEvery {
			l.asked = s.now
			s.emit(AskLease{To: l.receiver, Object: o.rec.Object, Lease: l.id})
		}
	}
}

func (s *Shard) leaseKnown(k LeaseKnown) {
	o := s.objects[k.Object]
	if o == nil {
		return
	}
	s.stir(o)
	for _, l := range o.leases {
		if l.id != k.Lease || l.receiver != k.From {
			continue
		}
		if k.Known {
			l.heard = s.now
			return
		}
		if h := o.holder(k.From); h != nil && h.complete {
			o.endLease(l) // a complete copy stays, even if the lease has failed
		} else {
			o.unlist(k.From)
		}
		s.serve(o)
		s.notify(o)
		return
	}
}
