package directory

import (
	"slices"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/planted"
)

// evict grants leave to drop a complete copy while another one is listed
// (specification 1.8). The grant is durable, so that two owners never grant
// away the last two copies.
func (s *Shard) evict(o *object, r Request, e Evict) {
	h := o.holder(r.From)
	refuse := func(why string) {
		o.refused(r)
		s.reject(r, o, phalanx.ErrUnavailable, "%s", why)
	}
	switch {
	case o.stale(r):
		refuse("it has reported another copy since")
	case o.wasRefused(r): // From keeps its copy: leave that comes now would take it off the list
		refuse("it was refused before")
	case h == nil && slices.Contains(o.rec.Evicted, r.From):
		s.reply(r, s.known(o)) // granted before
	case r.Num < s.before[r.From]: // an answer of the former owner's may have come, and the copy be another
		refuse("it has reported its copies since")
	case len(s.warming) > 0: // the copy may not have been reported yet, nor the others
		refuse("the shard is warming")
	case o.rec.Gen != e.Gen || o.rec.State != Finished:
		s.reply(r, s.known(o)) // nothing that has to be kept
	case (h == nil || h.gen != e.Gen) && (o.rec.Inline || o.completeCopies("") > 0):
		s.reply(r, s.known(o)) // that of others is listed
	case h == nil || h.gen != e.Gen: // it came back with its copy, and has not told of it yet
		refuse("no complete copy is listed")
	case h.pinned || o.leasedTo(r.From) > 0:
		refuse("the copy is in use")
	case !h.complete:
		o.unlist(r.From)
		s.reply(r, s.known(o))
		s.serve(o)
	case !o.rec.Inline && o.completeCopies(r.From) == 0 && !planted.On(planted.EvictOnlyCopy):
		refuse("no other complete copy is listed")
	default:
		rec := o.rec
		rec.Evicted = append(slices.Clone(rec.Evicted), r.From)
		o.unlist(r.From) // at once: nobody is sent to it any more
		s.commit(o, rec, func() {
			if o.rec.Inline || o.completeCopies("") > 0 || s.absent(r.From) || planted.On(planted.EvictOnlyCopy) {
				s.reply(r, s.known(o))
				s.notify(o)
				return
			}
			s.readmit(o, r.From, func() { // the others have gone while the backup was told
				h := o.hold(r.From, o.rec.Gen)
				h.complete, h.begun = true, true
				refuse("no other complete copy is listed any more")
				s.serve(o)
				s.notify(o)
			})
		})
	}
}

// readmit makes it durable that From has a copy again after one was evicted, and
// then calls again. It reports whether there was such a grant: a later owner
// would ignore the new copy.
func (s *Shard) readmit(o *object, from phalanx.NodeID, again func()) bool {
	if !slices.Contains(o.rec.Evicted, from) {
		return false
	}
	rec := o.rec
	rec.Evicted = slices.DeleteFunc(slices.Clone(rec.Evicted), func(n phalanx.NodeID) bool { return n == from })
	s.commit(o, rec, func() {
		if !s.absent(from) {
			again()
		}
	})
	return true
}

// dropped takes From's copy off the list.
func (s *Shard) dropped(o *object, r Request, d Drop) {
	again := o.again(r) // a copy of it: From may have the object anew
	if h := o.holder(r.From); !o.stale(r) && !again && r.Num >= s.before[r.From] && h != nil && h.gen == d.Gen {
		o.unlist(r.From)
		s.checkLost(o)
		s.serve(o)
		s.notify(o)
		s.keepCopies(o)
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
