package store

import (
	"sync"
	"time"
)

const (
	// downlinkMemory is how long the best rate of this node counts.
	downlinkMemory = 2 * time.Minute
	// downlinkLeast is how many bytes a stream must have to tell a rate.
	downlinkLeast = 4 << 20
)

// downlink remembers how fast this node has got bytes, for owners to compare with
// how fast others do (specification 2.13): one that is much slower must not be
// waited for, nor relay. The zero value is ready.
type downlink struct {
	mu   sync.Mutex
	rate int64 // bytes per second, the best
	own  bool  // that is what this node and its senders can do: these always had bytes for it
	at   time.Duration
}

// received takes a stream. Its sender had nothing to send for some of the time: if
// that was not short, the stream says only what is possible at least.
func (d *downlink) received(bytes int64, took, idle time.Duration, now time.Duration) {
	if bytes < downlinkLeast || took <= 0 {
		return
	}
	rate := int64(float64(bytes) / took.Seconds())
	d.mu.Lock()
	defer d.mu.Unlock()
	if now-d.at > downlinkMemory {
		d.rate, d.own = 0, false
	}
	d.own = d.own || flowed(took, idle)
	if rate >= d.rate {
		d.rate, d.at = rate, now
	}
}

// flowed reports whether a stream's sender had bytes nearly all the time.
func flowed(took, idle time.Duration) bool { return idle >= 0 && idle <= took/4 }

// known returns bytes per second; 0 if it is not known.
func (d *downlink) known(now time.Duration) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.own || now-d.at > downlinkMemory {
		return 0
	}
	return d.rate
}
