package idle

import "time"

// wantSoon is how often a lease is asked for while there is none.
const wantSoon = 5 * time.Millisecond

// Wants reports whether the node tells its part of the view now that it is asked for what takes
// a lease, given when it last did (0: never), until when it has a lease, and after how long
// without a word the view lets the lease end (view.Config.IdleAfter).
func Wants(now, last, until, idleAfter time.Duration) bool {
	every := idleAfter / 4
	if now >= until {
		every = wantSoon
	}
	return last == 0 || now-last >= every
}
