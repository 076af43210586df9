package directory

import (
	"fmt"
	"slices"

	"github.com/phalanx-go/phalanx"
)

// evict grants leave to drop a complete copy while another one is listed
// (specification 1.8). The grant is durable, so that two owners never grant
// away the last two copies.
func (s *Shard) evict(o *object, r Request, e Evict) {
	h, again := o.holder(r.From), o.again(r)
	granted := h == nil && slices.Contains(o.rec.Evicted, r.From)
	refuse := func(why string) {
		o.refused(r)
		s.reject(r, o, phalanx.ErrUnavailable, "%s", why)
	}
	keep := func(why string) { // the asking node has all of it, even if its report of that got lost
		list := func() {
			o.whole(r.From)
			refuse(why)
			s.serve(o)
			s.notify(o)
			s.keepCopies(o)
		}
		if !s.readmit(o, r.From, list) {
			list()
		}
	}
	switch {
	case o.stale(r):
		refuse("the node has reported another copy since")
	case o.wasRefused(r): // From keeps its copy: leave that comes now would take it off the list
		refuse("the owner has refused the request before")
	case granted && (again || r.Num < s.before[r.From] || len(s.warming) > 0):
		s.reply(r, s.known(o)) // granted before
	case r.Num < s.before[r.From]: // an answer of the former owner's may have come, and the copy be another
		refuse("the node has reported its copies since")
	case len(s.warming) > 0: // the copy may not have been reported yet, nor the others
		refuse("the shard is warming")
	case o.rec.Gen != e.Gen || o.rec.State != Finished:
		s.reply(r, s.known(o)) // nothing that has to be kept
	case h != nil && h.gen == e.Gen && (h.pinned || o.readFrom(r.From)):
		refuse("the copy is in use")
	case !o.rec.Inline && s.stayingCopies(o, r.From) == 0:
		keep("no other complete copy is listed")
	default:
		rec := o.rec
		if rec.Evicted = s.ungone(o, o.rec, r.From); len(rec.Evicted) >= maxEvicted {
			refuse(fmt.Sprintf("%d nodes have leave to evict, and have not reported yet that their copies are gone", len(rec.Evicted)))
			return
		}
		rec.Evicted = append(rec.Evicted, r.From)
		o.dropped = slices.DeleteFunc(o.dropped, func(n phalanx.NodeID) bool { return n == r.From })
		o.unlist(r.From) // at once: no receiver is sent to it any more
		s.commit(o, rec, func() {
			switch {
			case o.rec.Inline || s.stayingCopies(o, "") > 0:
				s.reply(r, s.known(o))
				s.notify(o)
				return
			case s.absent(r.From): // it may join again with its copy, the last one
				s.reject(r, o, phalanx.ErrUnavailable, "the node is no member any more")
				return
			}
			keep("no other complete copy is listed any more") // the others have gone while the backup was told
		})
		if o.change != nil {
			o.change.undo = func() {
				if s.absent(r.From) {
					return
				}
				o.whole(r.From)
				s.serve(o)
				s.notify(o)
			}
		}
	}
}

// stayingCopies is completeCopies at members that stay: the copy of a leaving member is
// gone before long.
func (s *Shard) stayingCopies(o *object, not phalanx.NodeID) int {
	n := 0
	for _, h := range o.holders {
		if h.complete && h.gen == o.rec.Gen && h.node != not && !s.leaves(h.node) {
			n++
		}
	}
	return n
}

// maxEvicted bounds the nodes that may be about to drop their copy of one object.
const maxEvicted = 256

// ungone returns the nodes, but for one, that have got leave to drop their copy of rec and
// may not have done so yet. A node that has left the view, or has told that its copy
// is gone, reports that copy to no later owner.
func (s *Shard) ungone(o *object, rec Record, but phalanx.NodeID) []phalanx.NodeID {
	return slices.DeleteFunc(slices.Clone(rec.Evicted), func(n phalanx.NodeID) bool {
		return n == but || s.absent(n) || slices.Contains(o.dropped, n)
	})
}

// pushUngone also gives an order to nodes that have leave to drop their copy of rec: a reader
// may use it by now, and then it stays.
func (s *Shard) pushUngone(o *object, rec Record, order Order, gen phalanx.Generation) {
	for _, n := range s.ungone(o, rec, "") {
		s.pushGen(o, n, order, gen)
	}
}

// readFrom reports whether n sends its copy to a receiver, also one whose lease does not
// count against its limit (2.13).
func (o *object) readFrom(n phalanx.NodeID) bool {
	return slices.ContainsFunc(o.leases, func(l *lease) bool { return l.sender == n })
}

// whole lists n with a complete copy of the final generation.
func (o *object) whole(n phalanx.NodeID) {
	if l := o.leaseOf(n); l != nil {
		o.endLease(l)
	}
	h := o.hold(n, o.rec.Gen)
	h.complete, h.begun, h.origin, h.retiring, h.upstream = true, true, false, false, ""
}

// readmit makes it durable that From has a copy again after one was evicted, and
// then calls again. It reports whether there was such a grant: a later owner
// would ignore the new copy.
func (s *Shard) readmit(o *object, from phalanx.NodeID, again func()) bool {
	if !slices.Contains(o.rec.Evicted, from) {
		return false
	}
	rec := o.rec
	rec.Evicted = s.ungone(o, o.rec, from)
	o.dropped = slices.DeleteFunc(o.dropped, func(n phalanx.NodeID) bool { return n == from })
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
	late := o.stale(r) || again
	news := !late && r.Num >= s.before[r.From]
	if news && d.Gen == o.rec.Gen && !s.warming[r.From] && slices.Contains(o.rec.Evicted, r.From) && !slices.Contains(o.dropped, r.From) {
		o.dropped = append(o.dropped, r.From)
	}
	if news {
		o.drop(r, d.Gen)
	}
	h := o.holder(r.From)
	// Where it is known from a report, not from the list, the order of the reports decides;
	// but a request that came since may have begun it.
	l := o.leaseOf(r.From)
	switch {
	case l != nil && l.num > r.Num:
		news = false
	case h != nil && !h.listed:
		news = !late
	}
	if news && !d.Granted && h != nil && h.gen == d.Gen {
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
