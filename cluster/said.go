package cluster

import (
	"maps"
	"sync"
	"time"
)

const (
	saidFor = time.Minute // for so long the same text is not said again
	saidMax = 1000        // texts that are remembered; more are not said
)

// said remembers which texts were logged in the last minute, so that the same is not
// logged again and again. It is safe for concurrent use.
type said struct {
	mu   sync.Mutex
	last map[string]time.Duration
}

// news reports whether text is to be logged now, and remembers it if so.
func (s *said) news(text string, now time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.last[text]; ok && now-at < saidFor {
		return false
	}
	if len(s.last) >= saidMax {
		maps.DeleteFunc(s.last, func(_ string, at time.Duration) bool { return now-at >= saidFor })
	}
	if len(s.last) >= saidMax {
		return false
	}
	if s.last == nil {
		s.last = map[string]time.Duration{}
	}
	s.last[text] = now
	return true
}
