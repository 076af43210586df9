package dataplane

import (
	"sync"
	"time"

	"github.com/phalanx-go/phalanx"
)

// trips is how many of the last round trips to a peer count: with heartbeats each
// 100 ms those of the last three seconds.
const trips = 32

// trip remembers the last round trips to a peer. The shortest tells how long the path
// is: what takes longer has waited for a processor. The zero value is ready.
type trip struct {
	mu   sync.Mutex
	last [trips]time.Duration
	n    int
}

func (t *trip) took(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last[t.n%trips] = max(d, 1)
	t.n++
}

// value returns the shortest; 0 if there was none.
func (t *trip) value() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	var least time.Duration
	for _, d := range t.last[:min(t.n, trips)] {
		if least == 0 || d < least {
			least = d
		}
	}
	return least
}

// RoundTrip returns how long heartbeats to node and back have lately taken at least; 0
// if none came back.
func (c *Conns) RoundTrip(node phalanx.NodeID) time.Duration {
	c.mu.Lock()
	p := c.peers[node]
	c.mu.Unlock()
	if p == nil {
		return 0
	}
	return p.trip.value()
}
