package directory

import (
	"cmp"
	"slices"

	"github.com/phalanx-go/phalanx"
)

// An id that was deleted can be put again as soon as its Delete is answered
// (specification 1.10). Its tombstone tells new requests from late ones: a new request
// names the generation that was deleted, or released since.

// delete leaves a tombstone and has every copy dropped. A Delete that comes again, after
// others have put the id again, names a generation that is not there any more.
func (s *Shard) delete(o *object, r Request, d Delete) {
	switch {
	case o.rec.State == Deleted, o.rec.State == Unbound:
		s.reply(r, o.buried())
		return
	case d.Gen.IsZero(): // it asks for the generation
		s.reply(r, s.known(o))
		return
	case d.Gen.Less(o.rec.begun()):
		s.reply(r, o.buried())
		return
	}
	old := o.rec
	tomb := Record{Object: old.Object, State: Deleted, Gen: old.Gen}
	if old.Inline { // a creator that has put it in one change may not have heard that, and puts it again
		tomb.Origin, tomb.OriginNum = old.Origin, old.OriginNum
	}
	s.commit(o, tomb, func() {
		told := append(s.ungone(o, old, ""), o.given...)
		if old.State == Begun && old.Maker == ByPut && !s.absent(old.Origin) { // its announcement may be on its way
			told = append(told, old.Origin)
		}
		for _, h := range o.holders {
			told = append(told, h.node)
		}
		o.holders, o.leases, o.given = nil, nil, nil
		for i, n := range told {
			if !slices.Contains(told[:i], n) {
				s.push(o, n, PushDrop)
			}
		}
		s.reply(r, o.buried())
		s.awaited(o)
		for _, w := range o.waiters {
			s.reject(w, o, phalanx.ErrDeleted, "the object was deleted")
		}
		o.waiters = nil
		s.recreate(o)
		s.notify(o)
	})
}

// buried answers a Delete with the deleted generation, also if the id was put since.
func (o *object) buried() Result {
	if gen := o.rec.deletedGen(); !gen.IsZero() {
		return Result{State: Deleted, Gen: gen}
	}
	return Result{}
}

// putAgain binds a deleted id for r once no member has a copy any more: until then
// some reader could get deleted bytes.
func (s *Shard) putAgain(o *object, r Request, bind func()) {
	if s.cleared(o) {
		bind()
		return
	}
	s.waitFor(&o.creators, r, o)
}

// cleared reports whether all members have said that they have dropped the deleted copies.
func (s *Shard) cleared(o *object) bool {
	for _, p := range o.pushes {
		if p.Order == PushDrop {
			return false
		}
	}
	return len(s.warming) == 0
}

// clear goes on with requests to put o again, once it can.
func (s *Shard) clear(o *object) {
	if o.rec.State == Deleted && o.change == nil && len(o.creators) > 0 && s.acts() && s.cleared(o) {
		s.recreate(o)
	}
}

// rejectDeleted tells r the generation that it has to name. If r is not late its sender asks
// anew.
func (s *Shard) rejectDeleted(r Request, o *object) {
	res := s.rejection(o, phalanx.ErrDeleted, "the object was deleted")
	res.Gen = o.rec.stops()
	s.reply(r, res)
}

// rejectUndone answers the repeat of a Put that has taken effect, and whose bytes were
// deleted. It names no generation after which its sender could ask anew.
func (s *Shard) rejectUndone(r Request, o *object) {
	s.reply(r, Result{Kind: phalanx.ErrDeleted, Text: "the object was deleted after it was put", State: s.state(o)})
}

// deleted reports whether gen was deleted before the present generation was begun.
func (o *object) deleted(gen phalanx.Generation) bool {
	return !gen.IsZero() && !o.rec.After.Less(gen)
}

// begun returns the generation that Begin has given to the present binding.
func (r Record) begun() phalanx.Generation { return cmp.Or(r.First, r.Gen) }

// deletedGen returns the last generation that was deleted, as far as r tells.
func (r Record) deletedGen() phalanx.Generation {
	if r.State == Deleted && r.Released.IsZero() {
		return r.Gen
	}
	return r.After
}
