package directory

import (
	"slices"

	"github.com/phalanx-go/phalanx"
)

// evict grants leave to drop a complete copy while another one is listed
// (specification 1.8). The grant is durable, so that two owners never grant
// away the last two copies.
func (s *Shard) evict(o *object, r Request, e Evict) {
	h := o.holder(r.From)
	switch {
	case o.stale(r):
		s.reject(r, o, phalanx.ErrUnavailable, "it has reported another copy since")
	case slices.Contains(o.rec.Evicted, r.From) || h == nil || h.gen != e.Gen || o.rec.Gen != e.Gen:
		s.reply(r, s.known(o)) // nothing that has to be kept
	case h.pinned || o.leasedTo(r.From) > 0:
		s.reject(r, o, phalanx.ErrUnavailable, "the copy is in use")
	case len(s.warming) > 0 || (!o.rec.Inline && o.completeCopies(r.From) == 0):
		s.reject(r, o, phalanx.ErrUnavailable, "no other complete copy is listed")
	default:
		rec := o.rec
		rec.Evicted = append(slices.Clone(rec.Evicted), r.From)
		o.unlist(r.From) // at once: nobody is sent to it any more
		s.commit(o, rec, func() {
			s.reply(r, s.known(o))
			s.notify(o)
		})
	}
}

// dropped takes From's copy off the list.
func (s *Shard) dropped(o *object, r Request, d Drop) {
	if h := o.holder(r.From); h != nil && h.gen == d.Gen && !o.stale(r) {
		o.unlist(r.From)
		s.checkLost(o)
		s.serve(o)
		s.notify(o)
	}
	s.reply(r, Result{})
}

// checkLost tells when the last complete copy is gone.
func (s *Shard) checkLost(o *object) {
	if !s.acts() {
		return
	}
	lost := s.state(o) == Lost
	if lost && !o.lost {
		s.emit(ObjectLost{Object: o.rec.Object, Gen: o.rec.Gen})
	}
	o.lost = lost
}
