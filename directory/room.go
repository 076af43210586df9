package directory

import (
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/directory"
)

// roomPatience is how long a request waits at the owner until others have made
// room for its inline bytes: less than the time that its sender takes for silence.
const roomPatience = 2 * time.Second

// wanting names a request that waits for room. It is repeated by its sender.
type wanting struct {
	from phalanx.NodeID
	num  uint64
}

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
	memory, key := s.host.cfg.Memory, wanting{r.From, r.Num}
	err := memory.ReserveNow(need)
	if err == nil {
		s.reserved(need) // until the change is counted in its place
		delete(s.wanted, key)
		return true
	}
	now := s.host.cfg.Now()
	for k, since := range s.wanted { // also requests that are not repeated any more
		if now-since > 2*roomPatience {
			delete(s.wanted, k)
		}
	}
	since, again := s.wanted[key]
	if !again {
		if s.wanted == nil {
			s.wanted = map[wanting]time.Duration{}
		}
		s.wanted[key], since = now, now
	}
	if now-since < roomPatience {
		memory.Press(need)
		return false
	}
	delete(s.wanted, key)
	_ = s.host.cfg.Transport.Send(r.From, s.number, core.Reply{To: r.From, Num: r.Num, Object: r.Object, Result: core.Result{
		Kind: phalanx.ErrNoSpace, Text: fmt.Sprintf("the owner %s has no memory for the object: %v", s.host.cfg.Self, err)}})
	return false
}
