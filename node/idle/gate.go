package idle

import "time"

// HoldFor is how long an event or a grant that takes a lease waits for one on a node that had
// none. Then the node counts as unable to get one.
const HoldFor = 200 * time.Millisecond

const (
	mostHeld  = 1000    // events
	mostBytes = 4 << 20 // of them
)

// Gate keeps events for the shards of a node without a lease. The shards would drop them, and
// the senders repeat them late. The zero value is the gate of a node that has had no lease yet.
type Gate[E any] struct {
	until  time.Duration // of the lease
	lacks  bool          // there is none although one is wanted
	lacked time.Duration // since then
	held   []E
	bytes  int64
}

// Leased notes until when there is a lease. All kept events may go on.
func (g *Gate[E]) Leased(until time.Duration) { g.until, g.lacks = until, false }

// Open reports whether a new event goes on, after all kept ones: the node has a lease, or has
// waited for one in vain.
func (g *Gate[E]) Open(now time.Duration) bool {
	if now < g.until {
		return true
	}
	if !g.lacks {
		g.lacks, g.lacked = true, now
	}
	return now-g.lacked >= HoldFor
}

// Keep keeps ev, of so many bytes, and reports whether it does. If not, the gate is full.
func (g *Gate[E]) Keep(ev E, bytes int64) bool {
	if len(g.held) >= mostHeld || g.bytes+bytes > mostBytes {
		return false
	}
	g.held = append(g.held, ev)
	g.bytes += bytes
	return true
}

// Bytes returns how many bytes are kept.
func (g *Gate[E]) Bytes() int64 { return g.bytes }

// All returns the kept events, in their order, and forgets them.
func (g *Gate[E]) All() []E {
	held := g.held
	g.held, g.bytes = nil, 0
	return held
}

// Due returns when the kept events go on without a lease; false: there are none.
func (g *Gate[E]) Due() (time.Duration, bool) {
	return g.lacked + HoldFor, len(g.held) > 0
}
