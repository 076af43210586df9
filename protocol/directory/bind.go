package directory

import (
	"fmt"
	"slices"

	"github.com/phalanx-go/phalanx"
)

// compatible reports whether m and n can describe the same bytes, as far as
// they are known.
func compatible(m, n phalanx.Meta) bool {
	return m.DType == n.DType && slices.Equal(m.Shape, n.Shape) &&
		(m.Size == n.Size || m.Size == phalanx.UnknownSize || n.Size == phalanx.UnknownSize)
}

// begin binds the id, or tells its binding (specification 1.5, 4.1).
func (s *Shard) begin(o *object, r Request, b Begin) {
	switch st := s.state(o); {
	case b.After.Less(o.rec.stops()):
		s.rejectDeleted(r, o)
	case o.rec.State == Deleted:
		s.putAgain(o, r, func() { s.bind(o, r, b) })
	case st == Unbound:
		s.bind(o, r, b)
	case st == Begun && o.rec.Origin == r.From && (o.rec.OriginNum == r.Num || b.Run != 0 && o.rec.Run == b.Run):
		s.rebegin(o, r)
	case o.sameReduce(r) && st == Lost && o.boundBy(r, b):
		s.turnAway(r, o, s.known(o)) // a late copy: no node would make it again
	case o.sameReduce(r) && st == Lost:
		s.bind(o, r, b)
	case o.sameReduce(r):
		s.turnAway(r, o, s.recorded(o))
	case b.Maker == ByReduce:
		s.turnAway(r, o, s.rejection(o, phalanx.ErrExists, "the target is %v already, by another request", st))
	case st == Lost && (b.Replace == o.rec.Gen || !compatible(b.Meta, o.rec.Meta)):
		s.bind(o, r, b) // other bytes than the lost ones
	case !compatible(b.Meta, o.rec.Meta):
		s.turnAway(r, o, s.rejection(o, phalanx.ErrExists, "the object is %v with %s", st, unlike(o.rec.Meta, b.Meta)))
	case st == Begun:
		s.waitFor(&o.creators, r, o)
	default:
		s.turnAway(r, o, s.known(o))
	}
}

// boundBy reports whether r, or a later request of the same run, has bound o.
func (o *object) boundBy(r Request, b Begin) bool {
	return o.rec.Origin == r.From && (r.Num == o.rec.OriginNum || b.Run != 0 && b.Run == o.rec.Run && r.Num < o.rec.OriginNum)
}

// rebegin answers another Begin of the run that has bound o. The binding is that
// of the latest: the earlier attempt's Begin may yet be canceled.
func (s *Shard) rebegin(o *object, r Request) {
	if r.Num <= o.rec.OriginNum {
		s.reply(r, s.known(o))
		return
	}
	rec := o.rec
	rec.OriginNum = r.Num
	s.commit(o, rec, func() { s.reply(r, s.known(o)) })
}

// unlike names the size and the type of an object, and those of what a caller wants to put under its id.
func unlike(has, puts phalanx.Meta) string {
	text := func(m phalanx.Meta) string {
		if m.DType == phalanx.Bytes && has.DType != puts.DType {
			return describe(m) + " of type bytes"
		}
		return describe(m)
	}
	return text(has) + ", not " + text(puts)
}

func describe(m phalanx.Meta) string {
	size := fmt.Sprintf("%d bytes", m.Size)
	if m.Size == phalanx.UnknownSize {
		size = "a size that is not known yet"
	}
	switch {
	case m.DType == phalanx.Bytes:
		return size
	case m.Shape == nil:
		return fmt.Sprintf("%s of %v", size, m.DType)
	}
	return fmt.Sprintf("%s of %v%v", size, m.DType, m.Shape)
}

// waitFor queues r and tells so; a repeat keeps its place.
func (s *Shard) waitFor(queue *[]Request, r Request, o *object) {
	if i := slices.IndexFunc(*queue, r.same); i >= 0 {
		(*queue)[i].heard = s.now
	} else {
		r.heard = s.now
		*queue = append(*queue, r)
	}
	if o.weed == 0 {
		o.weed = s.now + waitLife
	}
	s.reply(r, Result{Waiting: true, State: s.state(o), Gen: o.rec.Gen, Meta: o.rec.Meta})
}

// weedOut forgets waiting requests that are repeated no more: late copies of finished ones, whose
// nodes may have nothing to cancel, or whose Cancel was forgotten with the owner before.
func (s *Shard) weedOut(o *object) {
	if o.weed == 0 || o.weed > s.now {
		return
	}
	old := func(r Request) bool { return r.heard+waitLife <= s.now }
	o.waiters, o.creators, o.awaiting = slices.DeleteFunc(o.waiters, old), slices.DeleteFunc(o.creators, old), slices.DeleteFunc(o.awaiting, old)
	if o.weed = 0; len(o.waiters)+len(o.creators)+len(o.awaiting) > 0 {
		o.weed = s.now + waitLife
	}
}

func (s *Shard) nextGen() phalanx.Generation {
	s.genSeq++
	return phalanx.Generation{Epoch: s.view.Epoch, Seq: s.genSeq}
}

func (s *Shard) bind(o *object, r Request, b Begin) {
	old := o.rec
	rec := Record{Object: o.rec.Object, State: Begun, Gen: s.nextGen(), Meta: b.Meta, Maker: b.Maker, Tag: b.Tag,
		Origin: r.From, OriginNum: r.Num, Run: b.Run, Copies: max(1, b.Copies), After: old.deletedGen(), Released: old.Released}
	s.commit(o, rec, func() {
		s.superseded(o, old)
		s.reply(r, s.known(o))
		s.serve(o)
		s.notify(o)
	})
}

// superseded tells all holders of an older generation that there is a new one.
func (s *Shard) superseded(o *object, old Record) {
	if old.Gen.IsZero() || old.Gen == o.rec.Gen {
		return
	}
	if old.State == Finished {
		s.emit(ObjectReplaced{Object: o.rec.Object, Old: old.Gen, Gen: o.rec.Gen})
	}
	if o.rec.Origin != old.Origin || o.rec.OriginNum != old.OriginNum { // a late copy of the binding request binds nothing
		e := o.end(old.Origin, old.OriginNum, s.now)
		if e.turned = true; old.Run != o.rec.Run {
			e.run = old.Run
		}
		if old.State == Deleted {
			e.kind = phalanx.ErrDeleted
		}
	}
	o.leases, o.lost = nil, false
	s.awaited(o)
	s.pushUngone(o, old, PushReset, o.rec.Gen)
	for _, h := range o.holders {
		if h.gen.Less(o.rec.Gen) {
			h.upstream = ""
			s.push(o, h.node, PushReset)
		}
	}
}

// putInline binds and finishes in one change (specification 2.15).
func (s *Shard) putInline(o *object, r Request, p PutInline) {
	st := s.state(o)
	finish := func(gen phalanx.Generation) {
		rec := Record{Object: o.rec.Object, State: Finished, Gen: gen, Meta: p.Meta, Digest: p.Digest, Tag: p.Tag, Note: p.Note,
			Origin: r.From, OriginNum: r.Num, Inline: true, Bytes: p.Bytes, Copies: max(1, p.Copies), After: o.rec.deletedGen(), Released: o.rec.Released}
		if p.Tag != "" {
			rec.Maker = ByReduce
		}
		old := o.rec
		if gen == old.Gen {
			rec.First = old.First
		}
		s.commit(o, rec, func() {
			s.superseded(o, old)
			s.finished(o, r, p.Held, "")
		})
	}
	switch {
	case int64(len(p.Bytes)) != p.Meta.Size:
		s.reject(r, o, phalanx.ErrInvalid, "the object came with %d bytes, not %d", len(p.Bytes), p.Meta.Size)
	case st == Deleted && o.rec.Origin == r.From && o.rec.OriginNum == r.Num:
		s.rejectUndone(r, o)
	case st == Deleted && !p.Gen.IsZero():
		s.reject(r, o, phalanx.ErrDeleted, "the object was deleted")
	case p.Gen.IsZero() && p.After.Less(o.rec.stops()), o.deleted(p.Gen):
		s.rejectDeleted(r, o)
	case o.rec.State == Deleted && p.Gen.IsZero():
		s.putAgain(o, r, func() { finish(s.nextGen()) })
	case st == Unbound && p.Gen.IsZero():
		finish(s.nextGen())
	case st == Unbound:
		s.turnAway(r, o, s.rejection(o, phalanx.ErrAborted, "the owner has released the binding"))
	case st == Begun && p.Gen == o.rec.Gen:
		finish(p.Gen)
	case !p.Gen.IsZero() && p.Gen != o.rec.Gen:
		s.turnAway(r, o, s.rejection(o, phalanx.ErrExists, "generation %v is superseded by %v", p.Gen, o.rec.Gen))
	case st == Lost && !compatible(p.Meta, o.rec.Meta):
		finish(s.nextGen())
	case !compatible(p.Meta, o.rec.Meta):
		s.turnAway(r, o, s.rejection(o, phalanx.ErrExists, "the object is %v with %s", st, unlike(o.rec.Meta, p.Meta)))
	case st == Begun:
		s.waitFor(&o.creators, r, o)
	case p.Digest == o.rec.Digest:
		held := p.Held && !o.putBefore(r)
		if held && s.readmit(o, r.From, func() { s.putInline(o, r, p) }) {
			return
		}
		if held {
			o.putBy(r)
		}
		res := s.known(o)
		if o.rec.Origin != r.From || o.rec.OriginNum != r.Num {
			res.Attached = o.rec.Origin
		}
		s.reply(r, res)
		s.serve(o)
		s.notify(o)
	case st == Lost:
		finish(s.nextGen())
	default:
		s.turnAway(r, o, s.rejection(o, phalanx.ErrExists, "the object is final with other bytes (digest %v)", o.rec.Digest))
	}
}

// final finishes a generation (specification 1.4).
func (s *Shard) final(o *object, r Request, f Final) {
	switch st := s.state(o); {
	case st == Deleted:
		s.reject(r, o, phalanx.ErrDeleted, "the object was deleted")
	case o.deleted(f.Gen):
		s.rejectDeleted(r, o)
	case st == Unbound:
		s.reject(r, o, phalanx.ErrAborted, "the owner has released the binding")
	case o.rec.Gen != f.Gen:
		s.reject(r, o, phalanx.ErrExists, "generation %v is superseded by %v", f.Gen, o.rec.Gen)
	case o.rec.State == Finished && o.rec.Digest == f.Digest:
		held := f.Held && !o.putBefore(r)
		if held && s.readmit(o, r.From, func() { s.final(o, r, f) }) {
			return
		}
		if held { // an earlier owner knew it
			o.putBy(r)
		}
		s.reply(r, s.known(o))
		s.serve(o)
		s.notify(o)
	case o.rec.State == Finished:
		s.reject(r, o, phalanx.ErrCorrupt, "generation %v is final with digest %v, not %v", f.Gen, o.rec.Digest, f.Digest)
	case s.absent(f.At) && f.View > s.view.Number:
		return // it is sent again
	case f.At != "" && o.droppedBy(f.At, f.Gen): // and its coordinator has not heard of that
		s.reject(r, o, phalanx.ErrLost, "the root at %s has ended", f.At)
	default:
		rec := o.rec
		rec.State, rec.Meta, rec.Digest, rec.Note = Finished, f.Meta, f.Digest, f.Note
		s.commit(o, rec, func() { s.finished(o, r, f.Held, f.At) })
	}
}

// finished shows a final object to all waiting requests. It has a complete copy from
// the beginning: the creator's, or the copy of the node of a reduce's root. If that ends
// before the backup has the change, the object is lost.
func (s *Shard) finished(o *object, r Request, held bool, at phalanx.NodeID) {
	if held && !s.absent(r.From) { // it may have left while this was on its way
		o.putBy(r)
	}
	if at != "" && !s.absent(at) && !o.droppedBy(at, o.rec.Gen) {
		h := o.hold(at, o.rec.Gen)
		h.origin = true
		o.maker = at
	}
	for _, h := range o.holders {
		if h.gen != o.rec.Gen || h.node == r.From && held {
			continue
		}
		if h.origin { // it has every byte, and is told that they are final
			h.complete, h.pinned, h.kept, h.begun, h.origin = true, true, true, true, false
		}
		s.push(o, h.node, PushFinal)
	}
	s.reply(r, s.known(o))
	s.recreate(o)
	s.serve(o)
	s.notify(o)
	s.keepCopies(o)
	s.checkLost(o)
}

// putBy lists the copy of the node that has put the object, until it says that it has given
// up r. Earlier reports of that node are about another copy.
func (o *object) putBy(r Request) {
	o.stale(r)
	for i := range o.reports {
		if last := &o.reports[i]; last.node == r.From && !slices.Contains(last.puts, r.Num) {
			if len(last.puts) == maxPuts {
				last.puts = slices.Delete(last.puts, 0, 1)
			}
			last.puts = append(last.puts, r.Num)
		}
	}
	o.claim(r.From, r.Num, true).upstream = ""
}

// recreate answers the creators that waited for another one.
func (s *Shard) recreate(o *object) {
	waiting := o.creators
	o.creators = nil
	for _, r := range waiting {
		s.request(r)
	}
}

// abort releases the binding (specification 1.6).
func (s *Shard) abort(o *object, r Request, a Abort) {
	later := a.Run != 0 && a.Run == o.rec.Run && o.rec.Origin == r.From && a.Gen.Less(o.rec.Gen)
	if o.rec.State != Begun || o.rec.Gen != a.Gen && !later {
		s.reply(r, s.known(o))
		return
	}
	s.release(o, o.rec.Run, func() { s.reply(r, s.known(o)) })
}

// release gives the id up, and with run not 0 has nothing of that run of a Reduce
// bind it any more.
func (s *Shard) release(o *object, run uint64, done func()) {
	old := o.rec
	if o.rec.OriginNum != 0 {
		e := o.end(o.rec.Origin, o.rec.OriginNum, s.now)
		e.run, e.turned, e.kind, e.text = run, true, phalanx.ErrAborted, "the owner has released the binding"
	}
	free := Record{Object: old.Object}
	if !old.After.IsZero() { // a late request for a deleted object must not bind it
		free.State, free.Gen, free.After, free.Released = Deleted, old.Gen, old.After, old.Gen
	}
	s.commit(o, free, func() {
		holders := o.holders
		o.holders, o.leases = nil, nil
		s.pushUngone(o, old, PushAbort, old.Gen)
		for _, h := range holders {
			s.pushGen(o, h.node, PushAbort, old.Gen)
		}
		if done != nil {
			done()
		}
		s.recreate(o)
		s.awaited(o)
		s.refuse(o)
		s.serve(o)
		s.notify(o)
	})
}

// restart gives a new generation to an object that is made again (5.4).
func (s *Shard) restart(o *object, r Request, b Restart) {
	switch st := s.state(o); {
	case st == Deleted:
		s.reject(r, o, phalanx.ErrDeleted, "the object was deleted")
	case o.deleted(b.Gen):
		s.rejectDeleted(r, o)
	case st == Unbound:
		s.reject(r, o, phalanx.ErrAborted, "the owner has released the binding")
	case o.rec.State != Begun || o.rec.Origin != r.From:
		s.reject(r, o, phalanx.ErrExists, "the object is %v, by %s", st, o.rec.Origin)
	case o.rec.OriginNum == r.Num, b.Run != 0 && b.Run == o.rec.Run && b.Gen.Less(o.rec.Gen):
		s.reply(r, s.known(o))
	case o.rec.Gen != b.Gen:
		s.reject(r, o, phalanx.ErrExists, "generation %v is superseded by %v", b.Gen, o.rec.Gen)
	default:
		o.end(o.rec.Origin, o.rec.OriginNum, s.now) // it was answered, or there would be no Restart
		rec := o.rec
		rec.Gen, rec.First, rec.OriginNum = s.nextGen(), rec.begun(), r.Num
		old := o.rec
		s.commit(o, rec, func() {
			s.superseded(o, old)
			s.reply(r, s.known(o))
			s.notify(o)
		})
	}
}
