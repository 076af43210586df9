package directory

import core "github.com/phalanx-go/phalanx/protocol/directory"

// count takes more of the memory cap, or gives some back. A backup cannot refuse changes
// that the owner has accepted.
func (s *shard) count(more int64) {
	if more > 0 {
		s.host.cfg.Memory.Force(more)
	} else {
		s.host.cfg.Memory.Release(-more)
	}
	s.reserved(more)
}

// reserved notes this replica's share of the cap.
func (s *shard) reserved(more int64) {
	s.host.cfg.Memory.Last(0, more)
	s.held += more
	s.host.memory.Add(more)
}

// room reports whether there is free memory for the bytes that a request would have the
// owner hold. If there is none it has memory freed, and lets the request in when its
// sender repeats it; after some time it turns the request away.
func (s *shard) room(r core.Request) bool {
	need := s.core.Needs(r)
	if need == 0 {
		return true
	}
	memory := s.host.cfg.Memory
	err := memory.ReserveNow(need)
	if err == nil {
		s.reserved(need) // until the change is counted in its place
		s.wanted.Fits(r)
		return true
	}
	if turnedAway, ok := s.wanted.Short(s.host.cfg.Self, s.host.cfg.Now(), r, err); ok {
		_ = s.host.cfg.Transport.Send(r.From, s.number, turnedAway)
	} else {
		memory.Press(need)
	}
	return false
}
