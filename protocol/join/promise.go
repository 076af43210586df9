package join

import "github.com/phalanx-go/phalanx"

// choose decides which node this one promises to join, and boots if a majority of the
// seeds has promised to join this node. It does neither while a member of a cluster lives, nor
// before such a member had the time to ask this node.
//
// It chooses the smallest of the nodes that wait. A promise holds until its receiver has
// promised to join another node, or has not asked for so long that no answer can count for
// it any more. A node that has yielded to another counts only answers from after it has begun
// to count again.
func (c *Core) choose() {
	if !c.waited || len(c.members) > 0 || c.some(func(a Answer) bool { return a.Cluster != "" }) || !c.heardAll() {
		return
	}
	if best := c.best(); best != "" && (c.promise == "" || c.released()) {
		c.promiseTo(best)
	}
	if c.promise == c.cfg.Self && c.majority(c.promised) {
		c.boot()
	}
}

// heardAll reports whether each seed has answered, or has not in time. Before, a smaller one
// may be passed over.
func (c *Core) heardAll() bool {
	for _, s := range c.seeds {
		if !s.heard {
			return false
		}
	}
	return true
}

// promised reports whether a seed has promised to join this node, and is bound by that. Answers
// from before this node wanted to begin a cluster do not count.
func (c *Core) promised(s *seed) bool {
	return s.answer.From == c.cfg.Self || s.of > c.chosen && c.fresh(s) && s.answer.Promise == c.cfg.Self
}

// stands reports whether a node that waits wants to begin a cluster itself, or does not know
// yet.
func stands(a Answer) bool { return a.Cluster == "" && (a.Promise == "" || a.Promise == a.From) }

// best returns the smallest node that could begin a cluster, or "". A seed that does not ask
// this node does not join, or cannot reach it.
func (c *Core) best() phalanx.NodeID {
	var best phalanx.NodeID
	for _, s := range c.seeds {
		a := s.answer
		could := a.From == c.cfg.Self || stands(a) && s.comes && c.now-s.came <= c.cfg.PromiseFor
		if s.speaks() && could && (best == "" || a.From < best) {
			best = a.From
		}
	}
	return best
}

// released reports whether the promise is void.
func (c *Core) released() bool {
	if c.promise == c.cfg.Self { // it is kept to itself unless a smaller one stands
		return c.best() < c.promise
	}
	if c.some(func(a Answer) bool { return a.From == c.promise && !stands(a) }) {
		return true
	}
	return c.now-c.told > c.cfg.PromiseFor
}

func (c *Core) promiseTo(n phalanx.NodeID) {
	if n != c.promise {
		c.promise, c.chosen, c.told = n, c.num, c.now
	}
}
