package detect

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// Pace. A timer costs a process several times as much as a message that comes, so a
// node wakes for as few of either as it can.
//
// Two members that watch each other need one heartbeat, not two: to send it, and send it
// back, shows each of them that the other one lives. The one sends it that comes before
// the other in the ring of the view; the other one waits a little longer, and sends its own
// if none came.
//
// All heartbeats of all members follow each other at once. The first member of the view
// sends its own when its timer is due. They have its neighbours send theirs, and so on
// along the ring. If that takes too long, since a member hangs or the ring is large, the
// others' timers come.

// hear notes a heartbeat of another member. It is as good as a round trip, but for a peer
// that is looked at: that has to answer.
func (c *Core) hear(ev Heard) {
	p := c.peers[ev.Node]
	if p == nil || !p.watched {
		return
	}
	if !c.doubted(p) {
		p.heard, p.beat = max(p.heard, ev.Now), max(p.beat, ev.Now)
		p.slow = fade(p.slow) // there may be no more round trips that this node can measure
	}
	c.plan()
	if c.now-c.ticked >= c.cfg.Every/2 {
		c.due = c.now
	}
}

// doubted reports whether p is watched closely: something speaks against it.
func (c *Core) doubted(p *peer) bool {
	return p.cause != Trusted || c.now < p.look || p.again != 0 || len(p.accusers) > 0
}

// pace returns how long after a tick the next one is due at the latest.
func (c *Core) pace() time.Duration {
	if c.members[0] == c.cfg.Self {
		return c.cfg.Every
	}
	return c.cfg.Every + c.cfg.Every/8
}

// latest returns how long after a heartbeat the next one is due at the latest.
func (c *Core) latest(p *peer) time.Duration {
	if c.doubted(p) {
		return c.cfg.LookEvery
	}
	return c.cfg.Every + c.cfg.Every/4
}

// early returns how long after a heartbeat a tick sends the next one. All are sent at
// once, so that a node wakes once for all of them.
func (c *Core) early(id phalanx.NodeID, p *peer) time.Duration {
	switch {
	case c.doubted(p):
		return c.cfg.LookEvery / 2
	case c.begins(id):
		return c.cfg.Every / 2
	}
	return c.latest(p)
}

// ahead returns how many steps along the ring of the view id comes after this node, and
// how many there are.
func (c *Core) ahead(id phalanx.NodeID) (steps, n int) {
	n = len(c.members)
	return (slices.Index(c.members, id) - slices.Index(c.members, c.cfg.Self) + n) % n, n
}

// begins reports whether the heartbeats between this node and id are this node's to send.
func (c *Core) begins(id phalanx.NodeID) bool {
	steps, n := c.ahead(id)
	return 2*steps < n || 2*steps == n && slices.Index(c.members, c.cfg.Self) < n/2
}

// near reports whether id is one of the next or previous members in the ring of the
// view.
func (c *Core) near(id phalanx.NodeID) bool {
	steps, n := c.ahead(id)
	return steps <= c.cfg.Successors || n-steps <= c.cfg.Successors
}
