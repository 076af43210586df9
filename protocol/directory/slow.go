package directory

import (
	"slices"

	"github.com/phalanx-go/phalanx"
)

// slow takes a sender's report that the receiver under a lease is slow (2.13):
// once per sender such a lease does not count against its limit.
func (s *Shard) slow(o *object, r Request, b Slow) {
	for _, l := range o.leases {
		if l.id == b.Lease && l.sender == r.From {
			s.slowly[l.receiver], l.reported = true, true
			l.slow = l.slow || !o.servesSlow(l.sender)
			s.serve(o)
			break
		}
	}
	s.reply(r, s.known(o))
}

// slowRatio is by how much a receiver is slower than the fastest, to count as slow.
const slowRatio = 4

// gets takes how fast n has got bytes lately. Its conclusions about other nodes count for
// present leases.
func (s *Shard) gets(o *object, n phalanx.NodeID, down int64) {
	old, was := s.downs[n], s.fastest
	switch {
	case down == old:
		return
	case down > 0:
		s.downs[n] = down
	default: // it has not got anything for long
		delete(s.downs, n)
	}
	if s.fastest = max(s.fastest, down); old == s.fastest {
		s.findFastest()
	}
	if s.fastest <= was {
		return
	}
	for _, l := range o.leases {
		l.slow = l.slow || s.lags(l.receiver) && !o.servesSlow(l.sender)
	}
}

func (s *Shard) findFastest() {
	s.fastest = 0
	for _, down := range s.downs {
		s.fastest = max(s.fastest, down)
	}
}

// lags reports whether n was slow, or is known to be much slower than others: a
// lease of it does not count against the limit of its sender, and it is no relay
// for others.
func (s *Shard) lags(n phalanx.NodeID) bool {
	return s.slowly[n] || s.downs[n] > 0 && s.downs[n] <= s.fastest/slowRatio
}

// servesSlow reports whether one of n's leases does not count.
func (o *object) servesSlow(n phalanx.NodeID) bool {
	return slices.ContainsFunc(o.leases, func(l *lease) bool { return l.sender == n && l.slow })
}

// drags reports whether n itself gets the object slowly.
func (s *Shard) drags(o *object, n phalanx.NodeID) bool {
	if len(s.slowly)+len(s.downs) == 0 {
		return false
	}
	l := o.leaseOf(n)
	return l != nil && (l.reported || s.lags(n))
}

// dragged reports whether the receiver under l is held up by its sender, and not
// by itself.
func (s *Shard) dragged(o *object, l *lease) bool {
	return s.drags(o, l.sender) && !l.reported && !s.lags(l.receiver)
}

// stuck reports whether n waits for a sender while one is barred for it: its copy
// may not grow, although there is a copy that others can read.
func (s *Shard) stuck(o *object, n phalanx.NodeID) bool {
	return slices.ContainsFunc(o.bars, func(b bar) bool { return b.receiver == n && b.until > s.now }) &&
		slices.ContainsFunc(o.waiters, func(r Request) bool { return r.From == n })
}

// bypass has transfers to senders that have failed n count no longer against the limits
// of their own senders (2.13), and reports whether there is any. In a chain n can read
// only from the sender of the failed one. That one may be dead unnoticed; if it lives,
// it is served besides.
func (s *Shard) bypass(o *object, n phalanx.NodeID) bool {
	any := false
	for _, b := range o.bars {
		if b.receiver != n || b.until <= s.now {
			continue
		}
		if l := o.leaseOf(b.sender); l != nil && l.sender != n && !o.servesSlow(l.sender) && !s.barred(o, l.sender, n) {
			l.slow, any = true, true
		}
	}
	return any
}

// relieve moves receivers to complete copies for which no request waits, each at most
// once a second: receivers whose sender gets its bytes slowly (2.13), and receivers
// whose sender is stuck, which then can have the object from them. A receiver
// locates again, and gives its lease up by that: until then it goes on. An order
// that is lost is repeated when the second is over.
func (s *Shard) relieve(o *object) {
	if len(s.slowly)+len(s.downs)+len(o.bars) == 0 || !s.acts() || len(s.warming) > 0 {
		return
	}
	var given []phalanx.NodeID // to receivers that were told just now
	for _, l := range o.leases {
		to := o.holder(l.receiver)
		if to == nil || !s.dragged(o, l) && !s.stuck(o, l.sender) || to.wasMoved && s.now-to.moved < moveEvery {
			continue
		}
		h := s.choose(o, l.receiver)
		if h == nil || !h.complete || slices.Contains(given, h.node) {
			continue
		}
		given = append(given, h.node)
		to.moved, to.wasMoved = s.now, true
		s.emit(AskLease{To: l.receiver, Object: o.rec.Object, Lease: l.id, Move: true})
	}
}
