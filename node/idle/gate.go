package idle

import "time"

// HoldFor is how long whatever takes a lease waits for one on a node that had none. Then there
// is none to be had.
const HoldFor = 200 * time.Millisecond

const (
	mostHeld  = 1000    // events
	mostBytes = 4 << 20 // of them
)

// Gate keeps what comes for the shards of a node without a lease. They would drop it, and it
// would be repeated late. The zero value is one of a node that has had no lease yet.
type Gate[E any] struct {
	until  time.Duration // of the lease
	lacks  bool          // there is none although one is wanted
	lacked time.Duration // since then
	held   []E
	bytes  int64
}

// Leased notes until when there is a lease. All that was kept may go on.
func (g *Gate[E]) Leased(until time.Duration) { g.until, g.lacks = until, false }

// Open reports whether what comes now goes on, after all that was kept: there is a lease, or
// none to be had.
func (g *Gate[E]) Open(now time.Duration) bool {
	if now < g.until {
		return true
	}
	if !g.lacks {
		g.lacks, g.lacked = true, now
	}
	return now-g.lacked >= HoldFor
}

// Keep keeps ev, of so many bytes, and reports whether it does. If not, there is too much.
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

// All returns what was kept, in its order, and keeps it no more.
func (g *Gate[E]) All() []E {
	held := g.held
	g.held, g.bytes = nil, 0
	return held
}

// Due returns when what is kept goes on without a lease; false: nothing is kept.
func (g *Gate[E]) Due() (time.Duration, bool) {
	return g.lacked + HoldFor, len(g.held) > 0
}
