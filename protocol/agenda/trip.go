package agenda

import "time"

// Trip is how long answers take now: a moving average. Where much is asked a message waits
// in a mailbox for longer than a lost one would be waited for; repeating it then makes the
// mailbox longer still. The zero Trip is that of no answer yet.
type Trip time.Duration

// tripsWaited is how many trips are waited for before something is repeated.
const tripsWaited = 4

// Took takes note that an answer came d after the first time that it was asked for.
func (t *Trip) Took(d time.Duration) {
	*t += (Trip(d) - *t) / 8
}

// Again is after how long what was sent so many times without an answer is repeated: at first
// after least, or more if answers take long now, then each time after twice as long, and after
// most at most.
func (t Trip) Again(tries int, least, most time.Duration) time.Duration {
	wait := max(least, tripsWaited*time.Duration(t))
	for ; tries > 1 && wait < most; tries-- {
		wait *= 2
	}
	return min(wait, most)
}
