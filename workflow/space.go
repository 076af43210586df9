package workflow

import (
	"sync/atomic"
	"time"

	"github.com/phalanx-go/phalanx/internal/durable"
)

// space knows whether the ledger's disk is nearly full. The file system may take its time to tell: it is asked beside the actor, at
// most once a second, and what it has said last counts.
type space struct {
	free func() (durable.Space, error)
	next time.Duration
	low  *atomic.Bool
}

// spaceFor is how long an answer counts.
const spaceFor = time.Second

func spaceOf(free func() (durable.Space, error)) space {
	s := space{free: free, low: &atomic.Bool{}}
	s.look()
	return s
}

// full reports whether no run is to begin. Only the actor calls it.
func (s *space) full(now time.Duration) bool {
	if now >= s.next {
		s.next = now + spaceFor
		looking := *s
		go looking.look()
	}
	return s.low.Load()
}

// look asks the file system. One that cannot tell is not full: an append to it fails if it is broken.
func (s space) look() {
	have, err := s.free()
	s.low.Store(err == nil && have.Fits(0) != nil)
}
