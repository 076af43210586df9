package barrier

import "time"

// trip is how long answers take now: a moving average. Where many barriers are open a
// message waits in a mailbox for longer than a lost one would be waited for; repeating
// it then makes the mailbox longer still.
type trip time.Duration

// tripsWaited is how many trips are waited for before something is repeated.
const tripsWaited = 4

// took takes note that an answer came d after the first time that it was asked for.
func (t *trip) took(d time.Duration) {
	*t += (trip(d) - *t) / 8
}

// again is after how long what was sent so many times without an answer is repeated:
// the more often, and the longer answers take now, the later.
func (c *Core) again(tries int, t trip) time.Duration {
	first := max(c.cfg.Resend, tripsWaited*time.Duration(t))
	return min(c.cfg.Poll, first<<min(max(0, tries-1), 10))
}
