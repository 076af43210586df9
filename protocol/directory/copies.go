package directory

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// copyOrder is a node's order to get a complete pinned copy (specification 1.8).
// It is repeated until that copy is listed.
type copyOrder struct {
	node    phalanx.NodeID
	gen     phalanx.Generation
	ordered time.Duration
	sent    time.Duration
}

// pinnedCopies counts the listed complete pinned copies.
func (o *object) pinnedCopies() int {
	n := 0
	for _, h := range o.holders {
		if h.pinnedCopy(o.rec.Gen) {
			n++
		}
	}
	return n
}

func (h *holder) pinnedCopy(g phalanx.Generation) bool { return h.gen == g && h.complete && h.pinned }

// keepCopies orders the copies that are missing and repeats the orders, answers
// those who wait for copies, and forgets what is done.
func (s *Shard) keepCopies(o *object) {
	if !s.acts() || o.change != nil || len(s.warming) > 0 {
		return
	}
	s.awaited(o)
	missing := 0
	if s.state(o) == Finished && o.rec.Copies > 1 {
		missing = o.rec.Copies - o.pinnedCopies()
	}
	o.orders = slices.DeleteFunc(o.orders, func(c *copyOrder) bool {
		h := o.holder(c.node)
		return missing <= 0 || c.gen != o.rec.Gen || s.absent(c.node) || h != nil && h.pinnedCopy(o.rec.Gen)
	})
	if missing <= 0 {
		return
	}
	for _, c := range o.orders {
		if s.now-c.ordered < copyPatience {
			missing-- // one that takes too long goes on, but another node is asked too
		}
		if s.now-c.sent >= copyRepeat {
			s.order(o, c)
		}
	}
	for _, n := range s.candidates(o) {
		if missing <= 0 {
			return
		}
		missing--
		c := &copyOrder{node: n, gen: o.rec.Gen, ordered: s.now}
		o.orders = append(o.orders, c)
		s.order(o, c)
	}
}

func (s *Shard) order(o *object, c *copyOrder) {
	c.sent = s.now
	s.pushSeq++
	s.emit(Push{To: c.node, Seq: s.view.Epoch<<32 | s.pushSeq, Object: o.rec.Object, Order: PushCopy, Gen: o.rec.Gen, Meta: o.rec.Meta, Digest: o.rec.Digest})
}

// candidates returns who can be asked for a pinned copy: those that only have to
// pin theirs, then those that have begun to fetch it, then the others in an
// order that differs from object to object, so that the load is spread.
func (s *Shard) candidates(o *object) []phalanx.NodeID {
	rank := func(n phalanx.NodeID) int {
		switch h := o.holder(n); {
		case h == nil || h.gen != o.rec.Gen:
			return 2
		case h.complete:
			return 0
		}
		return 1
	}
	spread := func(n phalanx.NodeID) int {
		return (o.rec.Object + "/" + phalanx.ObjectID(n)).Shard(math.MaxInt32)
	}
	out := slices.DeleteFunc(slices.Clone(s.view.Members), func(n phalanx.NodeID) bool {
		h := o.holder(n)
		return h != nil && h.pinnedCopy(o.rec.Gen) || slices.ContainsFunc(o.orders, func(c *copyOrder) bool { return c.node == n })
	})
	slices.SortFunc(out, func(a, b phalanx.NodeID) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(spread(a), spread(b)), cmp.Compare(a, b))
	})
	return out
}

// awaitCopies answers once enough complete pinned copies are listed.
func (s *Shard) awaitCopies(o *object, r Request, a AwaitCopies) {
	switch {
	case o.rec.State == Finished && o.rec.Gen == a.Gen && a.Copies > o.rec.Copies: // put again, with more copies
		rec := o.rec
		rec.Copies = a.Copies
		s.commit(o, rec, func() { s.awaitCopies(o, r, a) })
	case s.hasCopies(o, a):
		s.reply(r, s.known(o))
	case s.outlived(o, a):
		s.outlive(o, r, a)
	default:
		s.waitFor(&o.awaiting, r, o)
		s.keepCopies(o)
	}
}

func (s *Shard) hasCopies(o *object, a AwaitCopies) bool {
	return o.rec.State == Finished && o.rec.Gen == a.Gen && o.pinnedCopies() >= a.Copies
}

// outlived reports whether the generation that a waits for is not the final one
// any more.
func (s *Shard) outlived(o *object, a AwaitCopies) bool {
	return o.rec.State != Finished || o.rec.Gen != a.Gen
}

func (s *Shard) outlive(o *object, r Request, a AwaitCopies) {
	switch {
	case o.rec.State == Deleted:
		s.reject(r, o, phalanx.ErrDeleted, "it was deleted")
	case o.rec.State == Unbound:
		s.reject(r, o, phalanx.ErrLost, "nothing is known of generation %v", a.Gen)
	default:
		s.reject(r, o, phalanx.ErrExists, "generation %v is superseded by %v", a.Gen, o.rec.Gen)
	}
}

// awaited answers those who have waited long enough.
func (s *Shard) awaited(o *object) {
	o.awaiting = slices.DeleteFunc(o.awaiting, func(r Request) bool {
		a := r.Body.(AwaitCopies)
		switch {
		case s.hasCopies(o, a):
			s.reply(r, s.known(o))
		case s.outlived(o, a):
			s.outlive(o, r, a)
		default:
			return false
		}
		return true
	})
}
