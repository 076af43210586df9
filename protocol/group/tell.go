package group

import (
	"maps"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// telling is what other nodes are to know for certain.
type telling struct {
	owed map[phalanx.NodeID][]*owed // to members only
	num  uint64
}

// owed is news that was not acknowledged yet.
type owed struct {
	num   uint64
	news  News
	due   time.Duration
	pause time.Duration
}

// tell has a node hear of news, at once and again until it has.
func (c *Core) tell(to phalanx.NodeID, n News) {
	if to == c.view.Self {
		c.told(n)
		return
	}
	if !c.view.Members[to] {
		return
	}
	c.num++
	c.owed[to] = append(c.owed[to], &owed{num: c.num, news: n, due: c.now + c.cfg.Resend, pause: 2 * c.cfg.Resend})
	c.send(to, Tell{Num: c.num, News: n})
}

func (c *Core) tellAgain() {
	for _, to := range slices.Sorted(maps.Keys(c.owed)) {
		for _, o := range c.owed[to] {
			if o.due <= c.now {
				o.due, o.pause = c.now+o.pause, min(2*o.pause, c.cfg.ResendMax)
				c.send(to, Tell{Num: o.num, News: o.news})
			}
		}
	}
}

func (c *Core) acked(from phalanx.NodeID, num uint64) {
	c.owed[from] = slices.DeleteFunc(c.owed[from], func(o *owed) bool { return o.num == num })
	if len(c.owed[from]) == 0 {
		delete(c.owed, from)
	}
}

// forgetGone drops what was for nodes that are no members any more.
func (c *Core) forgetGone() {
	for to := range c.owed {
		if !c.view.Members[to] {
			delete(c.owed, to)
		}
	}
}

// maxEarly bounds of how many groups that are not known here news is kept.
const maxEarly = 1024

// told takes news.
func (c *Core) told(n News) {
	name := ""
	switch n := n.(type) {
	case Invite:
		c.invited(n)
		return
	case Revoke:
		name = n.Group
	case Gone:
		name = n.Group
	}
	g := c.groups[name]
	if g == nil {
		if !c.used[name] && (len(c.early) < maxEarly || c.early[name] != nil) {
			c.early[name] = append(c.early[name], n)
		}
		return
	}
	switch n := n.(type) {
	case Revoke:
		c.wave(g, n.Hops, n.Revocation)
	case Gone:
		c.leave(g, n.Ranks)
		c.retire()
	}
}
