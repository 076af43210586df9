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

// pinnedCopies counts the listed complete pinned copies at members that stay.
func (s *Shard) pinnedCopies(o *object) int {
	n := 0
	for _, h := range o.holders {
		if h.pinnedCopy(o.rec.Gen) && !s.leaves(h.node) {
			n++
		}
	}
	return n
}

// leaves reports whether n is a member that is about to leave.
func (s *Shard) leaves(n phalanx.NodeID) bool { return slices.Contains(s.view.Leaving, n) }

// staying returns how many members stay.
func (s *Shard) staying() int { return len(s.view.Members) - len(s.view.Leaving) }

// keptBy returns how many complete pinned copies of o members that stay have to
// have before a leaving member may go: as many as were promised, if so many stay.
// The bytes of an inline object are with its owner and its backup.
func (s *Shard) keptBy(o *object) int {
	if o.rec.Inline && o.rec.Copies <= 1 {
		return 0
	}
	return min(max(1, o.rec.Copies), s.staying())
}

// wanted returns how many complete pinned copies there are to be.
func (s *Shard) wanted(o *object) int {
	n := 0
	if o.rec.Copies > 1 {
		n = o.rec.Copies
	}
	if o.handedOver() {
		n = max(n, s.keptBy(o))
	}
	return n
}

// handedOver reports whether a member that leaves waits until others keep o.
func (o *object) handedOver() bool {
	return slices.ContainsFunc(o.awaiting, func(r Request) bool { return r.Body.(AwaitCopies).Leaving != 0 })
}

func (h *holder) pinnedCopy(g phalanx.Generation) bool { return h.gen == g && h.complete && h.pinned }

// keepCopies orders the missing copies and repeats the orders, answers requests that
// wait for copies, and forgets finished orders.
func (s *Shard) keepCopies(o *object) {
	if !s.acts() || o.change != nil || len(s.warming) > 0 {
		return
	}
	s.awaited(o)
	missing := 0
	if s.state(o) == Finished && !o.isUncopied() {
		missing = s.wanted(o) - s.pinnedCopies(o)
	}
	o.orders = slices.DeleteFunc(o.orders, func(c *copyOrder) bool {
		h := o.holder(c.node)
		switch {
		case s.absent(c.node) || s.leaves(c.node) || h != nil && h.pinnedCopy(o.rec.Gen):
			return true
		case missing <= 0: // the node may wait for room, and would take it from other objects later
			s.emit(Push{To: c.node, Seq: s.nextPush(), Object: o.rec.Object, Order: PushSpare, Gen: c.gen})
			return true
		}
		return c.gen != o.rec.Gen
	})
	if missing <= 0 {
		return
	}
	for _, c := range o.orders {
		if s.now-c.ordered < o.patience(c) {
			missing-- // a node that takes too long goes on, but another one is asked too
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

// patience returns how long an order counts for a copy that will be there. While a
// member waits to leave, the owner does not rely for long on a node that does not
// begin, perhaps since it has no room.
func (o *object) patience(c *copyOrder) time.Duration {
	if o.handedOver() && o.holder(c.node) == nil {
		return beginPatience
	}
	return copyPatience
}

func (s *Shard) order(o *object, c *copyOrder) {
	c.sent = s.now
	s.emit(Push{To: c.node, Seq: s.nextPush(), Object: o.rec.Object, Order: PushCopy, Gen: o.rec.Gen, Meta: o.rec.Meta, Digest: o.rec.Digest,
		Copies: o.rec.Copies})
}

// candidates returns the nodes that can be asked for a pinned copy: first nodes that only
// have to pin theirs, then nodes that have begun to fetch it, then the others in an
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
		return s.leaves(n) || h != nil && h.pinnedCopy(o.rec.Gen) || slices.ContainsFunc(o.orders, func(c *copyOrder) bool { return c.node == n })
	})
	slices.SortFunc(out, func(a, b phalanx.NodeID) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(spread(a), spread(b)), cmp.Compare(a, b))
	})
	return out
}

// awaitCopies answers once enough complete pinned copies are listed. Of two members
// that leave, one is marked so later. Answered by a view that has its mark, it does
// not rely on the other.
func (s *Shard) awaitCopies(o *object, r Request, a AwaitCopies) {
	switch {
	case a.Leaving > s.view.Number:
		return // it is sent again
	case o.rec.State == Finished && o.rec.Gen == a.Gen && a.Copies > o.rec.Copies: // put again, with more copies
		rec := o.rec
		rec.Copies = a.Copies
		s.commit(o, rec, func() {
			s.tellCopies(o)
			s.awaitCopies(o, r, a)
		})
	case s.hasCopies(o, a):
		s.enough(o, r)
	case s.outlived(o, a) && a.Leaving != 0:
		// The copy may be lost with its node if this answer is wrong, and another owner may
		// have made the object final: the commit proves that this node is still the owner.
		s.commit(o, o.rec, func() { s.outlive(o, r, a) })
	case s.outlived(o, a):
		s.outlive(o, r, a)
	case o.isUncopied():
		s.rejectUncopied(o, r)
	default:
		s.waitFor(&o.awaiting, r, o)
		s.keepCopies(o)
	}
}

// tellCopies tells the nodes with pinned copies how many are to be kept: if the
// shard is lost, no other node knows.
func (s *Shard) tellCopies(o *object) {
	for _, h := range o.holders {
		if h.pinnedCopy(o.rec.Gen) && !slices.ContainsFunc(o.pushes, func(p *push) bool { return p.To == h.node }) {
			s.push(o, h.node, PushCopy)
		}
	}
}

func (s *Shard) hasCopies(o *object, a AwaitCopies) bool {
	want := a.Copies
	if a.Leaving != 0 {
		want = s.keptBy(o)
	}
	return o.rec.State == Finished && o.rec.Gen == a.Gen && s.pinnedCopies(o) >= want
}

// enough answers r, now that there are the copies for which it waits. A late copy of r must
// not wait again if one of them has gone meanwhile: no node would cancel it, and the owner
// would keep as many copies as for a member that leaves for ever.
func (s *Shard) enough(o *object, r Request) {
	o.end(r.From, r.Num, s.now).enough = true
	s.reply(r, s.known(o))
}

// outlived reports whether the generation that a waits for is not the final one
// any more.
func (s *Shard) outlived(o *object, a AwaitCopies) bool {
	return o.rec.State != Finished || o.rec.Gen != a.Gen
}

func (s *Shard) outlive(o *object, r Request, a AwaitCopies) {
	switch st := s.state(o); {
	case st == Deleted, o.deleted(a.Gen):
		s.reject(r, o, phalanx.ErrDeleted, "the object was deleted")
	case st == Unbound:
		s.reject(r, o, phalanx.ErrLost, "the owner does not know generation %v", a.Gen)
	default:
		s.reject(r, o, phalanx.ErrExists, "generation %v is superseded by %v", a.Gen, o.rec.Gen)
	}
}

// awaited answers requests that have waited long enough.
func (s *Shard) awaited(o *object) {
	o.awaiting = slices.DeleteFunc(o.awaiting, func(r Request) bool {
		a := r.Body.(AwaitCopies)
		switch {
		case s.hasCopies(o, a):
			s.enough(o, r)
		case s.outlived(o, a):
			s.outlive(o, r, a)
		default:
			return false
		}
		return true
	})
}
