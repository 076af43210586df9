package barrier

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// A node that leaves manages barriers no more. It asks the primaries of those of which it has a replica
// to take them over, until each has said that it is not needed: the present managers have what it has.
// Else nobody would gather a barrier that no participant asks about, and nodes that leave one
// after another would take it with them.

// handedAtOnce is how many barriers a node asks about at a time.
const handedAtOnce = 256

// isLeaving reports whether this node is about to leave, and others stay that manage barriers.
func (c *Core) isLeaving() bool {
	return !slices.Contains(c.list, c.view.Self) && slices.Contains(c.view.Leaving, c.view.Self)
}

// Remains returns as of which view how many barriers this node, which leaves, has to hand over yet: of
// some it has a replica, of others it tells that they have fired. It is 0 if none stays.
func (c *Core) Remains() (view uint64, left int) {
	if c.isLeaving() {
		left = len(c.replicas)
		for _, o := range c.owing {
			left += len(o.digests) + len(o.anew)
		}
	}
	return c.view.Number, left
}

// handOver asks the primaries, of one part of the barriers after the other: one that does not answer
// holds up no other.
func (c *Core) handOver() {
	if at, ok := c.handOverDue(); !ok || c.now < at {
		return
	}
	c.handOverAt = c.now + c.cfg.Resend
	keys := c.keys()
	for range min(len(keys), handedAtOnce) {
		k := keys[c.handed%len(keys)]
		c.handed++
		c.send(c.primary(k), Reached{Key: k, Stamp: c.now})
	}
}

func (c *Core) handOverDue() (at time.Duration, ok bool) {
	return c.handOverAt, len(c.replicas) > 0 && c.isLeaving()
}

// takeOver answers a node that leaves and has a replica.
func (c *Core) takeOver(from phalanx.NodeID, k Key) {
	if !c.ready(k) || c.now >= c.leased || slices.Contains(c.managers(k), from) {
		return // it asks again
	}
	if r := c.replicas[k]; r != nil && (r.flight != nil || len(r.pending) > 0) {
		if !slices.Contains(r.spare, from) {
			r.spare = append(r.spare, from)
		}
		return
	}
	c.send(from, Forget{Key: k, Term: c.terms.Term})
}
