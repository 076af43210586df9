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

// handing is how a node that leaves hands over.
type handing struct {
	leaves bool          // this node does, and others stay that manage barriers
	keys   []Key         // of the barriers that it asks about in this round
	had    int           // how many there were when the round began
	vain   int           // how many rounds in a row have brought nothing
	next   time.Duration // when it asks again
}

// newHanding begins with a view.
func (c *Core) newHanding() handing {
	return handing{leaves: !slices.Contains(c.list, c.view.Self) && slices.Contains(c.view.Leaving, c.view.Self)}
}

// Remains returns as of which view how many barriers this node, which leaves, has to hand over yet: of
// some it has a replica, of others it tells that they have fired. It is 0 if none stays.
func (c *Core) Remains() (view uint64, left int) {
	if c.handing.leaves {
		left = len(c.replicas)
		for _, o := range c.owing {
			left += len(o.digests) + len(o.anew)
		}
	}
	return c.view.Number, left
}

// handOver asks the primaries, of one part of the barriers after the other: one that the node does not
// reach holds up no other. A primary answers once it has gathered from all members, so a member that
// hangs holds up all until the view removes it. The pauses grow where a round brings nothing.
func (c *Core) handOver() {
	if at, ok := c.handOverDue(); !ok || c.now < at {
		return
	}
	h := &c.handing
	if len(h.keys) == 0 {
		if h.keys = c.keys(); len(h.keys) < h.had {
			h.vain = 0
		}
		h.had, h.vain = len(h.keys), h.vain+1
	}
	h.next = c.now + c.pauses(0).After(h.vain)
	for asked := 0; asked < handedAtOnce && len(h.keys) > 0; h.keys = h.keys[1:] {
		if k := h.keys[0]; c.replicas[k] != nil { // else its primary has taken it over since
			c.send(c.primary(k), Reached{Key: k, Stamp: c.now})
			asked++
		}
	}
}

func (c *Core) handOverDue() (at time.Duration, ok bool) {
	return c.handing.next, c.handing.leaves && len(c.replicas) > 0
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
