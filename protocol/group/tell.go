package group

import (
	"time"

	"github.com/phalanx-go/phalanx"
)

// telling is what other nodes are to know for certain.
type telling struct {
	owed map[phalanx.NodeID]map[uint64]*owed // to members only, by number
	num  uint64
}

// owed is news that was not acknowledged yet.
type owed struct {
	news  News
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
	if c.owed[to] == nil {
		c.owed[to] = map[uint64]*owed{}
	}
	c.owed[to][c.num] = &owed{news: n, pause: 2 * c.cfg.Resend}
	c.due.Set(errand{to: to, num: c.num}, c.now+c.cfg.Resend)
	c.send(to, Tell{Num: c.num, News: n})
}

// tellAgain tells what was not acknowledged.
func (c *Core) tellAgain(e errand) {
	if o := c.owed[e.to][e.num]; o != nil {
		c.due.Set(e, c.now+o.pause)
		o.pause = min(2*o.pause, c.cfg.ResendMax)
		c.send(e.to, Tell{Num: e.num, News: o.news})
	}
}

func (c *Core) acked(from phalanx.NodeID, num uint64) {
	delete(c.owed[from], num)
	c.due.Cancel(errand{to: from, num: num})
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

// told takes news, or if there is no room for it now does not: then it comes again.
func (c *Core) told(n News) bool {
	switch n := n.(type) {
	case Invite:
		c.invited(n)
	case Revoke:
		// Before the group is formed here, neighbours may be no members of the view yet.
		switch g := c.groups[n.Group]; {
		case g == nil, !g.formed && !g.decline:
			return c.keep(n.Group, n)
		case g.formed:
			c.wave(g, n.Hops, n.Revocation)
		}
	case Gone:
		g := c.groups[n.Group]
		if g == nil {
			return c.keep(n.Group, n)
		}
		c.leave(g, n.Ranks)
		c.retire(g)
	}
	return true
}

// keep keeps news of a group until more is known of that.
func (c *Core) keep(name string, n News) bool {
	if c.used[name] {
		return true
	}
	if len(c.early) >= maxEarly && c.early[name] == nil {
		return false
	}
	c.early[name] = append(c.early[name], n)
	return true
}

// catchUp takes the news of a group that was kept.
func (c *Core) catchUp(name string) {
	early := c.early[name]
	delete(c.early, name)
	for _, n := range early {
		c.told(n)
	}
}
