package reduce

import "time"

const (
	// busyFirst and busyLongest are the pauses before a place asks again a child whose node is busy.
	busyFirst   = 10 * time.Millisecond
	busyLongest = 320 * time.Millisecond
	// busyPatience is how long that goes on. A node is busy for an edge only as long as it does
	// not know the place: after this time the edge counts as one that has ended, as where there is no
	// such place.
	busyPatience = 2 * orderPatience
)

// Busy is a place's patience with a child whose node says that it is busy. Since is when the place
// first asked.
type Busy struct {
	Since time.Duration
	pause time.Duration
}

// Again returns when the place asks again, or false: it gives the edge up.
func (b *Busy) Again(now time.Duration) (pause time.Duration, ok bool) {
	b.pause = min(max(busyFirst, 2*b.pause), busyLongest)
	return b.pause, now-b.Since <= busyPatience
}
