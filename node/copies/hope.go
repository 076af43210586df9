package copies

import "time"

const (
	// ShowPatience is how long a receiver waits for a copy that is about to be shown: the directory
	// names a sender as soon as it was answered, which the sender may not know yet.
	ShowPatience = time.Second
	// expectFor is how long one waits since a fetch or a Put of the sender may still show the
	// generation.
	expectFor = 2 * time.Second
)

// Hope is that of a receiver that wants to read a copy which is not here.
type Hope struct {
	began, last time.Duration // when it asked, and when a copy was to be expected last
}

// NewHope begins now.
func NewHope(now time.Duration) Hope { return Hope{now, now} }

// Ends reports whether the receiver is told now that there is no copy, given whether a fetch or a
// Put of this node works on the object.
func (h *Hope) Ends(now time.Duration, expected bool) bool {
	if expected && now-h.began <= expectFor {
		h.last = now
		return false
	}
	return now-h.last > ShowPatience
}
