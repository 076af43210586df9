package group

import (
	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/retry"
)

// telling is the news that other nodes have to acknowledge.
type telling struct {
	owed map[phalanx.NodeID]map[uint64]*owed // to members only, by number
	num  uint64
}

// owed is news that was not acknowledged yet.
type owed struct {
	question
	news News
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
	o := &owed{news: n, question: question{first: c.now, Backoff: retry.Once(c.now)}}
	c.owed[to][c.num] = o
	c.ofNews += countNews(n)
	c.due.Set(errand{to: to, num: c.num}, c.lookAt(o.question, to))
	c.send(to, Tell{Num: c.num, News: n})
}

// tellAgain repeats unacknowledged news.
func (c *Core) tellAgain(e errand) {
	o := c.owed[e.to][e.num]
	if o == nil {
		return
	}
	if !c.overdue(&o.question, e.to) {
		c.due.Set(e, c.lookAt(o.question, e.to))
		return
	}
	o.Sent(c.now)
	c.due.Set(e, c.lookAt(o.question, e.to))
	c.send(e.to, Tell{Num: e.num, News: o.news})
}

func (c *Core) acked(from phalanx.NodeID, num uint64) {
	if o := c.owed[from][num]; o != nil {
		c.ofNews -= countNews(o.news)
		c.answered(from, o.question)
	}
	delete(c.owed[from], num)
	c.due.Cancel(errand{to: from, num: num})
	if len(c.owed[from]) == 0 {
		delete(c.owed, from)
	}
}

// forgetGone drops news for nodes that are no members any more.
func (c *Core) forgetGone() {
	c.forgetPeers()
	for to := range c.owed {
		if !c.view.Members[to] {
			for num, o := range c.owed[to] {
				c.ofNews -= countNews(o.news)
				c.due.Cancel(errand{to: to, num: num})
			}
			delete(c.owed, to)
		}
	}
}

// maxEarly bounds how much news of groups that are not formed here yet is kept beside one
// group.
const maxEarly = 1024

// told takes news, or if there is no room for it now does not: then it comes again.
func (c *Core) told(n News) bool {
	switch n := n.(type) {
	case Invite:
		c.invited(n)
	case Revoke:
		// Before the group is formed here, neighbours may be no members of the view yet.
		switch g := c.named(n.Named); {
		case g == nil:
			return c.early(n.Named, n)
		case g.formed:
			c.wave(g, n.Hops, n.Revocation)
		case !g.decline:
			return c.keep(g, g.name, n)
		}
	case Gone:
		g := c.named(n.Named)
		if g == nil {
			return c.early(n.Named, n)
		}
		c.leave(g, n.Ranks)
		c.retire(g)
	}
	return true
}

// named returns the group that news is of, or nil: it is over, or not known here yet.
func (c *Core) named(n Named) *group {
	g := c.groups[n.Group]
	c.touch(g)
	if g == nil || g.life != n.Life && !isChild(n.Group) {
		return nil
	}
	return g
}

// early keeps news of a group that comes of a Shrink which is not decided here yet. All other
// news of unknown groups is about groups that are over, or in which this node has no
// part.
func (c *Core) early(n Named, news News) bool {
	of := c.groups[n.Of]
	if of == nil || of.life != n.Life || !of.formed {
		return true
	}
	if a := of.agreement(n.Seq); a == nil || a.resolved {
		return true
	}
	return c.keep(of, n.Group, news)
}

// keep keeps news of a group until that is formed here.
func (c *Core) keep(g *group, name string, n News) bool {
	if g.kept >= maxEarly {
		return false
	}
	c.touch(g)
	g.kept++
	g.early[name] = append(g.early[name], n)
	return true
}

// catchUp takes the news of a group that was kept.
func (c *Core) catchUp(g *group) {
	for _, keeper := range []*group{c.groups[g.of], g} {
		if keeper == nil {
			continue
		}
		c.touch(keeper)
		early := keeper.early[g.name]
		delete(keeper.early, g.name)
		keeper.kept -= len(early)
		for _, n := range early {
			c.told(n)
		}
	}
}
