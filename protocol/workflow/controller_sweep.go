package workflow

import "time"

// sweeper says when the host looks for objects of which no node of the view knows: those that a node has put that has left since,
// or has died, and the targets of reduces. They are in the directory, or on nodes that were told nothing of their runs.
type sweeper struct {
	at    time.Duration // when the next look is due
	left  time.Duration // when the last node has left
	under bool          // a look is under way
}

// departed takes that a node has left, or that nobody has watched.
func (c *Controller) departed() {
	w := &c.sweeper
	w.left = c.now
	w.at = min(w.at, c.now+sweepPause)
}

func (c *Controller) sweepDue() (at time.Duration, ok bool) {
	return c.sweeper.at, !c.sweeper.under && !c.loading
}

// sweep has the host look, once the store has heard of all that the nodes have done that have left.
func (c *Controller) sweep() {
	w := &c.sweeper
	if at, ok := c.sweepDue(); !ok || c.now < at {
		return
	}
	w.under, w.at = true, c.now+censusPause
	if late := w.left + sweepPause; late > c.now {
		w.at = late
	}
	c.emit(Sweep{})
}

// swept takes that a look is over.
func (c *Controller) swept(ev Swept) {
	c.sweeper.under = false
	if ev.Failed {
		c.sweeper.at = min(c.sweeper.at, c.now+sweepPause)
	}
}
