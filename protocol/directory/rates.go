package directory

import (
	"slices"

	"github.com/phalanx-go/phalanx"
)

// measured notes at how many bytes per second a receiver has read from n. An
// old value counts three times as much as a new one.
func (s *Shard) measured(n phalanx.NodeID, rate int64) {
	switch old, ok := s.rates[n]; {
	case rate <= 0:
	case ok:
		s.rates[n] = old - old/4 + rate/4
	default:
		s.rates[n] = rate
	}
}

// faster reports whether n is known to send faster than m.
func (s *Shard) faster(n, m phalanx.NodeID) bool {
	return s.rates[m] > 0 && s.rates[n] > s.rates[m]
}

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

// servesSlow reports whether one of n's leases does not count.
func (o *object) servesSlow(n phalanx.NodeID) bool {
	return slices.ContainsFunc(o.leases, func(l *lease) bool { return l.sender == n && l.slow })
}
