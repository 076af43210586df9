package dataplane

import (
	"sync"
	"time"

	"github.com/phalanx-go/phalanx"
)

// trips is how many of the last round trips to a peer count: with a heartbeat each 250 ms, those of
// the last eight seconds.
const trips = 32

// trip remembers the last round trips to a peer. The shortest gives the length of the path: a
// longer one has waited for a processor. The zero value is ready.
//
// A heartbeat that comes back is a round trip for the node that sent it, and the hello of any
// connection is one for the node that made it. A node that sends a peer no heartbeats only has
// hellos, which may be old.
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

// RoundTrip returns the shortest time of the last hellos and heartbeats to node and back; 0 if this
// node has made no connection to it.
func (c *Conns) RoundTrip(node phalanx.NodeID) time.Duration {
	c.mu.Lock()
	p := c.peers[node]
	c.mu.Unlock()
	if p == nil {
		return 0
	}
	return p.trip.value()
}
