package directory

import (
	"fmt"
	"slices"

	"github.com/phalanx-go/phalanx"
)

// request answers r, or queues it behind the change that is in flight.
func (s *Shard) request(r Request) {
	if !s.owner() {
		s.reply(r, Result{Kind: phalanx.ErrUnavailable, NotOwner: true, Text: fmt.Sprintf("%s does not own shard %d", s.cfg.Self, s.cfg.Shard)})
		return
	}
	if !s.mayAnswer() || s.absent(r.From) {
		return
	}
	if !s.sure {
		s.held.add(r)
		return
	}
	if r.Epoch != 0 && r.Epoch < s.since {
		return // this owner lacks the former owner's knowledge of it; it is sent again, if it still counts
	}
	if l, ok := r.Body.(List); ok {
		s.reply(r, Result{List: s.list(l)})
		return
	}
	if n := r.payload(); n > MaxPayload {
		s.reply(r, Result{Kind: phalanx.ErrInvalid, Text: fmt.Sprintf("%s comes with %d bytes for the directory, at most %d are allowed", r.Object, n, MaxPayload)})
		return
	}
	o := s.object(r.Object)
	defer func(was Request) { s.asking = was }(s.asking)
	s.asking = r
	switch b := r.Body.(type) { // these touch soft state only
	case Cancel:
		s.cancel(o, r.From, b.Num)
		if o.change == nil {
			s.reply(r, Result{})
			return
		} // else the request that it cancels may be in flight: it counts again behind that
	case Failed:
		s.failed(o, r, b)
		return
	case Drop:
		s.dropped(o, r, b)
		return
	}
	if e := o.wasOver(r); e != nil && o.change == nil { // else it may be over only by that change
		s.lateCopy(o, r, e)
		return
	}
	if o.change != nil || len(s.warming) > 0 && (s.rebuild && o.rec.State == Unbound && binds(r) || tells(r)) {
		if !slices.ContainsFunc(o.queue, r.same) {
			o.queue = append(o.queue, r)
		}
		return
	}
	if o.overtaken(r) {
		s.reject(r, o, phalanx.ErrExists, "%s has bound the object again since", r.From)
		return
	}
	switch b := r.Body.(type) {
	case Cancel:
		s.cancel(o, r.From, b.Num)
		s.reply(r, Result{})
	case Begin:
		s.begin(o, r, b)
	case PutInline:
		s.putInline(o, r, b)
	case Final:
		s.final(o, r, b)
	case Abort:
		s.abort(o, r, b)
	case Restart:
		s.restart(o, r, b)
	case Delete:
		s.delete(o, r, b)
	case Announce:
		s.announce(o, r, b)
	case Locate:
		s.locate(o, r, b)
	case Done:
		s.done(o, r, b)
	case Slow:
		s.slow(o, r, b)
	case Corrupt:
		s.corrupt(o, r, b)
	case Checked:
		s.checked(o, r, b)
	case AwaitCopies:
		s.awaitCopies(o, r, b)
	case Watch:
		s.watch(o, r)
	case Evict:
		s.evict(o, r, b)
	case Stat:
		st := s.stat(o, true)
		s.reply(r, Result{State: s.state(o), Gen: o.rec.Gen, Meta: o.rec.Meta, Digest: o.rec.Digest, Stat: &st})
	}
}

// overtaken reports whether r would change a binding for an attempt of a coordinator when a
// later attempt has taken the binding over: that was told the generation, and would go on with
// it although there is another, or an answer that it has not heard.
func (o *object) overtaken(r Request) bool {
	switch b := r.Body.(type) {
	case Final, Abort, Restart:
	case PutInline:
		if b.Gen.IsZero() {
			return false
		}
	default:
		return false
	}
	return o.rec.State == Begun && o.rec.Run != 0 && o.rec.Origin == r.From && r.Num < o.rec.OriginNum
}

// binds reports whether r, or its answer, about an unbound id would be wrong if there is a
// copy of it after all, which its holder has not reported yet.
func binds(r Request) bool {
	switch r.Body.(type) {
	case Begin, PutInline, Final, Abort, Restart, Delete, Announce, Locate, Done, Evict, AwaitCopies, Watch:
		return true
	}
	return false
}

// tells reports whether the answer to r is about all copies, which a shard knows
// once it is warm.
func tells(r Request) bool {
	_, ok := r.Body.(Stat)
	return ok
}

// same reports whether q repeats r.
func (r Request) same(q Request) bool { return q.From == r.From && q.Num == r.Num }

func (s *Shard) reply(r Request, res Result) {
	s.emit(Reply{To: r.From, Num: r.Num, Object: r.Object, Epoch: s.view.Epoch, Result: res})
}

func (s *Shard) reject(r Request, o *object, k phalanx.Kind, format string, args ...any) {
	s.reply(r, s.rejection(o, k, format, args...))
}

func (s *Shard) rejection(o *object, k phalanx.Kind, format string, args ...any) Result {
	return Result{Kind: k, Text: fmt.Sprintf(format, args...), State: s.state(o), Gen: o.rec.Gen, Deleted: o.rec.deletedGen(), Meta: o.rec.Meta}
}

// turnAway answers r, which wanted to bind o and did not. A late copy of it must
// not: its sender has gone on, and no node would finish that binding.
func (s *Shard) turnAway(r Request, o *object, res Result) {
	e := o.wasOver(r)
	if e == nil {
		e = o.end(r.From, r.Num, s.now)
	}
	e.turned, e.kind, e.text, e.attached = true, res.Kind, res.Text, res.Attached
	s.reply(r, res)
}

// lateCopy answers a copy of a request that is over. The first answer may have
// been lost.
func (s *Shard) lateCopy(o *object, r Request, e *ended) {
	switch st := s.state(o); {
	case e.enough:
		if a, ok := r.Body.(AwaitCopies); ok && s.outlived(o, a) {
			s.outlive(o, r, a)
			return
		}
		s.reply(r, s.known(o))
	case !e.turned:
	case e.kind == phalanx.ErrDeleted:
		s.rejectUndone(r, o)
	case e.kind != 0:
		s.reject(r, o, e.kind, "%s", e.text)
	case st == Deleted:
		s.reject(r, o, phalanx.ErrDeleted, "the object was deleted")
	case o.sameReduce(r) && st != Lost:
		s.reply(r, s.recorded(o))
	case e.attached != "": // the reduce that it follows has ended, and is not there: it asks anew
		s.reply(r, Result{State: st, Gen: o.rec.Gen, Attached: e.attached})
	case o.sameReduce(r): // it was final when this was asked first
		res := s.recorded(o)
		res.State = Finished
		s.reply(r, res)
	case st == Finished || st == Lost:
		s.reply(r, s.known(o))
	default:
		s.reject(r, o, phalanx.ErrAborted, "the generation that this request asked for first is gone")
	}
}

// known returns the state of o, as an answer.
func (s *Shard) known(o *object) Result {
	res := Result{State: s.state(o), Gen: o.rec.Gen, Meta: o.rec.Meta, Digest: o.rec.Digest, IsInline: o.rec.Inline, Origin: o.madeBy()}
	if o.rec.State == Finished {
		res.Tag = o.rec.Tag
	}
	return res
}

// sameReduce reports whether r begins the reduce that makes o, or has made it.
func (o *object) sameReduce(r Request) bool {
	b, ok := r.Body.(Begin)
	return ok && b.Maker == ByReduce && o.rec.Maker == ByReduce && b.Tag == o.rec.Tag
}

// recorded returns what is known of o to a request for the reduce that makes it: who
// does, or the answer that it has recorded. Nobody else needs that, and it can be long.
func (s *Shard) recorded(o *object) Result {
	res := s.known(o)
	res.Note = o.rec.Note
	if o.rec.State == Begun {
		res.Attached = o.rec.Origin
	}
	return res
}
