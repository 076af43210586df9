package detect

import (
	"slices"

	"github.com/phalanx-go/phalanx"
)

// watch settles the receivers of heartbeats. A peer that was not watched before has
// a whole SilentAfter from now on.
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
	return c.near(id) || slices.Contains(c.voters, c.cfg.Self) && slices.Contains(c.voters, id) ||
		slices.Contains(c.streams, id) || c.doubted(p)
}
