package copies

import "time"

const (
	// ShowPatience is how long a receiver waits for a copy that its sender is about to show: the
	// directory names a sender as soon as it has answered it, and the answer may still be on its way.
	ShowPatience = time.Second
	// expectFor is how long a receiver waits because a fetch or a Put of the sender may still show
	// the generation.
	expectFor = 2 * time.Second
)

// Hope decides how long a receiver waits for a copy that is not here.
type Hope struct {
	began, last time.Duration // when it asked, and when a copy was expected last
}

// NewHope begins now.
func NewHope(now time.Duration) Hope { return Hope{now, now} }

// Ends reports whether the sender tells the receiver now that there is no copy. expected says that
// a fetch or a Put of this node works on the object.
func (h *Hope) Ends(now time.Duration, expected bool) bool {
	if expected && now-h.began <= expectFor {
		h.last = now
		return false
	}
	return now-h.last > ShowPatience
}
