package directory

import (
	"slices"

	"github.com/phalanx-go/phalanx"
)

// told is how much of its holdings a member has reported.
type told struct {
	round uint64
	parts map[uint64]bool
	last  uint64 // the part that is marked as the end
	ended bool
	all   bool
}

// take notes a chunk and reports whether it is news.
func (t *told) take(h Holdings) bool {
	if t.all || h.Round < t.round {
		return false
	}
	if h.Round > t.round || t.parts == nil {
		*t = told{round: h.Round, parts: map[uint64]bool{}}
	}
	t.parts[h.Part] = true
	if h.End {
		t.last, t.ended = h.Part, true
	}
	t.all = t.ended && (h.Round == 0 || uint64(len(t.parts)) == t.last+1)
	return true
}

// holdings takes a chunk of a member's copies (2.6). It corrects at the holder all that
// contradicts the records. Once all chunks have come, later copies of them are
// ignored: the member reports changes by itself.
func (s *Shard) holdings(h Holdings) {
	if !s.owner() || h.Epoch < s.since || h.Epoch > s.view.Epoch || s.absent(h.From) || !s.mayAnswer() {
		return
	}
	if !s.sure {
		s.held.add(h)
		return
	}
	t := s.told[h.From]
	if t == nil {
		t = &told{}
		s.told[h.From] = t
	}
	if t.take(h) {
		s.before[h.From] = max(s.before[h.From], h.Before)
		for _, c := range h.Holdings {
			s.holding(copied{h.From, h.Before, c})
		}
	}
	if t.all {
		s.emit(AckHoldings{To: h.From, Epoch: h.Epoch})
		delete(s.warming, h.From)
		s.warmed()
	}
}

// holding takes one copy of a member.
func (s *Shard) holding(of copied) {
	from, c := of.from, of.Holding
	o := s.object(c.Object)
	rec := o.rec
	record := func(r Record) { // the copy is listed once r is durable, unless it is gone by then
		o.copies = append(o.copies, of)
		s.commit(o, r, nil)
	}
	switch {
	case s.absent(from), o.gone(of): // it has left, or has dropped the copy, since it made the list
		return
	case o.change != nil && (s.rebuild || rec.State == Unbound || s.learns(of, rec)):
		o.copies = append(o.copies, of)
		return
	case s.rebuild && c.Complete && !c.Digest.IsZero() && (rec.Gen.Less(c.Gen) || rec.Gen == c.Gen && rec.State == Begun) && rec.State != Deleted:
		record(rebuilt(from, c, Record{}))
		return
	case s.learns(of, rec):
		record(rebuilt(from, c, rec))
		return
	case rec.State == Unbound && s.rebuild && len(s.warming) > 0: // another member may have all of it
		o.copies = append(o.copies, of)
		return
	case rec.State == Unbound, rec.shown() == Unbound && !o.deleted(c.Gen):
		s.pushGen(o, from, PushAbort, c.Gen)
		return
	case rec.State == Deleted: // without its generation if it was deleted while the shard was rebuilt
		gen := rec.deletedGen()
		if gen.Less(c.Gen) {
			gen = c.Gen
		}
		s.pushGen(o, from, PushDrop, gen)
		return
	case c.Gen.Less(rec.Gen):
		if h := o.holder(from); h != nil && h.gen == rec.Gen {
			return // the member's own report is newer
		}
		o.hold(from, c.Gen)
		s.push(o, from, PushReset)
		return
	case c.Complete && (slices.Contains(rec.Evicted, from) || o.change != nil && slices.Contains(o.change.rec.Evicted, from)):
		return // it drops this copy as soon as it hears of the grant
	}
	h := o.hold(from, c.Gen)
	h.listed = true
	// The origin of a final object has every byte, whether it knows that it is
	// final or not.
	h.complete = h.complete || (c.Complete || c.Origin) && rec.State == Finished
	h.kept = h.kept || c.Pinned || c.Origin && h.complete
	h.pinned, h.origin, h.begun = h.pinned || h.kept, c.Origin && !h.complete, h.begun || c.Begun || h.complete
	if c.Origin {
		o.maker, h.makes = from, c.Meta
	}
	// A lease that this owner has granted itself, and does not have any more, has ended.
	if c.Lease != 0 && c.Lease>>32 < s.since && !h.complete && o.leaseOf(from) == nil && !s.absent(c.Upstream) {
		h.upstream = c.Upstream
		o.leases = append(o.leases, &lease{id: c.Lease, sender: c.Upstream, receiver: from, heard: s.now})
	}
	if rec.State == Finished && !c.Complete {
		s.push(o, from, PushFinal)
	}
	if !o.listing { // else nothing follows before all are listed: the next may be the complete one
		s.serve(o)
		s.notify(o)
	}
}

// takeCopies takes the copies of o that had to wait, if they count.
func (s *Shard) takeCopies(o *object, counts func(copied) bool) {
	copies := o.copies
	if len(copies) == 0 {
		return
	}
	o.copies, o.listing = nil, true
	for _, of := range copies {
		if counts(of) {
			s.holding(of)
		}
	}
	o.listing = false
	s.serve(o)
	s.notify(o)
}

// rebuilt returns the record of an object of a shard that was lost, as a complete
// copy tells it; old has the other holders' reports of the same generation. The owner does
// not know any more that it was inline: its bytes are where the copies are.
func rebuilt(from phalanx.NodeID, c Holding, old Record) Record {
	rec := old
	if rec.State == Unbound {
		rec = Record{Object: c.Object, State: Finished, Gen: c.Gen, Meta: c.Meta, Digest: c.Digest, Origin: from}
	}
	rec.Copies = max(1, rec.Copies, c.Copies)
	if rec.Tag == "" && c.Tag != "" {
		rec.Tag, rec.Maker = c.Tag, ByReduce
	}
	if len(rec.Note) == 0 {
		rec.Note = c.Note
	}
	return rec
}

// learns reports whether a complete copy tells more of its object than rec. A record without its Reduce is
// of a shard that was lost: the node that knows the Reduce may have become a member after the shard was rebuilt.
func (s *Shard) learns(of copied, rec Record) bool {
	c := of.Holding
	return c.Complete && rec.Gen == c.Gen && rec.State == Finished && (s.rebuild || rec.Tag == "" && c.Tag != "") &&
		!rebuilt(of.from, c, rec).tellsAsMuch(rec)
}

// tellsAsMuch reports whether old, of the same generation, lacks nothing of r.
func (r Record) tellsAsMuch(old Record) bool {
	return r.Copies == old.Copies && r.Tag == old.Tag && len(r.Note) == len(old.Note)
}

// warmed goes on once every member has reported.
func (s *Shard) warmed() {
	if s.warming == nil || len(s.warming) > 0 || !s.acts() {
		return
	}
	s.warming = nil
	s.emit(Warm{Epoch: s.view.Epoch})
	for _, o := range s.awake() {
		s.stir(o)
		if o.change == nil {
			s.takeCopies(o, func(copied) bool { return true })
		}
		for _, l := range slices.Clone(o.leases) { // a sender that is not here any more
			if o.holder(l.sender) == nil {
				o.endLease(l)
			}
		}
		s.checkLost(o)
		s.requeue(o)
		s.clear(o)
		s.refuse(o)
		s.serve(o)
		s.notify(o)
		s.keepCopies(o)
	}
	s.complete()
}

// complete ends the rebuilding of a shard that was lost, once all reports of members are among
// the records, and tells the replicas. A replica that becomes owner before it knows that
// rebuilds the shard itself: else it would have the copies dropped that it does not know.
func (s *Shard) complete() {
	if s.whole >= s.view.LostAt || s.warming != nil || !s.acts() ||
		slices.ContainsFunc(s.flight, func(o *object) bool { return len(o.copies) > 0 }) {
		return
	}
	s.whole = s.view.LostAt
	for _, st := range s.sortedStreams() {
		st.log = append(st.log, Change{End: true})
		s.pump(st, false)
	}
}

// refuse answers the requests that would not wait, had the shard been warm.
func (s *Shard) refuse(o *object) {
	if s.state(o) != Unbound || o.change != nil {
		return
	}
	o.waiters = slices.DeleteFunc(o.waiters, func(r Request) bool {
		if r.Body.(Locate).Wait {
			return false
		}
		s.reject(r, o, phalanx.ErrNotFound, "nobody has announced it")
		return true
	})
}
