package barrier

import "time"

// remembers is how long a barrier that is over is known as it is: messages about it may be on their
// way. An adaptive semaphore has learned something that is worth more; and participants inside
// a double barrier may leave it.
func (c *Core) remembers(r *replica) time.Duration {
	if r.b.cfg.Semaphore.Adaptive || !r.b.over() {
		return c.cfg.Linger
	}
	return c.cfg.Keep
}

// close forgets a barrier that is over. If it has fired, its managers remember that.
func (c *Core) close(r *replica) {
	if c.primary(r.key) != c.view.Self {
		c.bury(r)
		c.spreadOne(r.key)
		return
	}
	if r.b.cfg.Semaphore.on() || r.b.Cause == NotFired {
		c.drop(r)
		return
	}
	r.pending = append(r.pending, Op{Kind: OpClose})
	c.record(r) // already: the backups forget the barrier before this node does, and its actor may begin anew in between
	c.wake(r)
}

// drop forgets a barrier, here and on the backups.
func (c *Core) drop(r *replica) {
	c.remove(r.key)
	for _, n := range c.managers(r.key)[1:] {
		c.send(n, Forget{Key: r.key, Term: c.terms.Term})
	}
}
