package directory

import "github.com/phalanx-go/phalanx"

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
