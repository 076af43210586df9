package actors

import "time"

// Clock returns the time since a node's start. It never falls. Cores take its
// values as the Now of their events; tests make their own.
type Clock func() time.Duration

// NewClock returns a Clock that starts now.
func NewClock() Clock {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}
