package detect

import (
	"slices"

	"github.com/phalanx-go/phalanx"
)

// watch settles to whom heartbeats are sent. Who was not watched before has a
// whole SilentAfter from now on.
func (c *Core) watch() {
	for _, id := range c.members {
		p := c.peers[id]
		if p == nil {
			continue
		}
		wanted := c.wanted(id, p)
		if wanted == p.watched {
			continue
		}
		p.watched = wanted
		if wanted {
			p.heard = c.now
		} else {
			c.emit(Rest{Node: id})
		}
	}
}

func (c *Core) wanted(id phalanx.NodeID, p *peer) bool {
	self := c.cfg.Self
	return slices.Contains(c.voters, self) || slices.Contains(c.voters, id) || slices.Contains(c.pairs, id) ||
		slices.Contains(c.streams, id) || c.follows(id) || c.now < p.look ||
		p.cause != Trusted || len(p.accusers) > 0
}

// follows reports whether id is one of the next members in the ring of the view.
func (c *Core) follows(id phalanx.NodeID) bool {
	at, self := slices.Index(c.members, id), slices.Index(c.members, c.cfg.Self)
	n := len(c.members)
	return at >= 0 && self >= 0 && (at-self+n)%n <= c.cfg.Successors
}
