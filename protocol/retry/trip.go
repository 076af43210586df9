package retry

import "time"

// Trip is how long answers take now: a moving average. Under load a message waits in a
// mailbox for longer than the first pause for a lost one; repeating it then makes the
// mailbox longer still. The zero Trip says that no answer has come yet.
type Trip time.Duration

// tripsWaited is how many trips are waited for before something is repeated.
const tripsWaited = 4

// Took takes note that an answer came d after the first time that it was asked for.
func (t *Trip) Took(d time.Duration) {
	*t += (Trip(d) - *t) / 8
}

// Pauses returns pauses that begin with least, or with more if answers take long now.
func (t Trip) Pauses(least, most time.Duration) Pauses {
	return Pauses{First: max(least, tripsWaited*time.Duration(t)), Most: most}
}
