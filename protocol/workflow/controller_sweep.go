package workflow

import "time"

// sweeper says when the host looks for objects that perhaps no node of the view has noted: those that a node has put that has left
// since, or has died, and the targets of reduces.
type sweeper struct {
	at    time.Duration // when the next look is due
	left  time.Duration // when the last node has left
	under bool          // a look is under way
	began time.Duration // when the last look began
	rests time.Duration // until then there is none
}

// sweepShare bounds the time that looks take: one part of so many.
const sweepShare = 20

// departed notes that a member has left the view.
func (c *Controller) departed() {
	c.sweeper.left = c.now
	c.sweeper.at = min(c.sweeper.at, c.now+sweepPause)
}

func (c *Controller) sweepDue() (at time.Duration, ok bool) {
	return max(c.sweeper.at, c.sweeper.rests), !c.sweeper.under && !c.loading
}

// sweep has the host look, once the store has heard of all that the nodes have done that have left.
func (c *Controller) sweep() {
	w := &c.sweeper
	if at, ok := c.sweepDue(); !ok || c.now < at {
		return
	}
	w.under, w.began, w.at = true, c.now, c.now+censusPause
	c.emit(Sweep{})
}

// swept takes that a look is over. If a node has left just before it or since, there is another one.
func (c *Controller) swept(ev Swept) {
	w := &c.sweeper
	w.under, w.rests = false, c.now+sweepShare*(c.now-w.began)
	if late := w.left + sweepPause; late > w.began {
		w.at = min(w.at, late)
	}
	if ev.Failed {
		w.at = min(w.at, c.now+sweepPause)
	}
}
