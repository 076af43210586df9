package idle

import "time"

// wantSoon is how often a node without a lease asks for one.
const wantSoon = 5 * time.Millisecond

// Wants reports whether a node with a request that takes a lease tells its part of the view so
// now. Given are when it last did (0: never), until when it has a lease, and after how long
// without a word the view lets the lease end (view.Config.IdleAfter).
func Wants(now, last, until, idleAfter time.Duration) bool {
	every := idleAfter / 4
	if now >= until {
		every = wantSoon
	}
	return last == 0 || now-last >= every
}
