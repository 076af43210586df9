package detect

import (
	"slices"

	"github.com/phalanx-go/phalanx"
)

// enough is how many witnesses a removal takes, where there are so many.
const enough = 2

// accused notes another member's judgement of a node.
func (c *Core) accused(ev Accused) {
	p := c.peers[ev.Node]
	if p == nil || !slices.Contains(c.members, ev.By) || ev.By == ev.Node || ev.By == c.cfg.Self || ev.Cause > Refused {
		return
	}
	if last, ok := p.heardOf[ev.By]; ok && ev.Told < last {
		return
	}
	p.heardOf[ev.By] = ev.Told
	if ev.Cause == Trusted {
		delete(p.accusers, ev.By)
		return
	}
	_, before := p.accusers[ev.By]
	p.accusers[ev.By] = accusation{cause: ev.Cause, at: c.now}
	if !before && p.cause == Trusted {
		c.broken(ev.Node) // look for oneself
	}
	c.judge()
}

// judge proposes to remove nodes that have enough witnesses. Only voters hear the
// judgements of others, so only they can.
func (c *Core) judge() {
	if !slices.Contains(c.voters, c.cfg.Self) {
		return
	}
	need := min(enough, len(c.members)-1)
	for _, id := range c.members {
		p := c.peers[id]
		if p == nil {
			continue
		}
		all, refused := c.witnesses(p)
		dead := len(refused) >= need
		if len(all) < need {
			p.proposed = never
			continue
		}
		if c.now-p.proposed < c.cfg.ProposeAfter && dead == p.dead {
			continue
		}
		p.proposed, p.dead = c.now, dead
		c.emit(Remove{Node: id, Dead: dead, Witnesses: all})
	}
}

// witnesses returns the nodes that suspect p, and the nodes whose connections it refuses.
func (c *Core) witnesses(p *peer) (all, refused []phalanx.NodeID) {
	for _, by := range c.members {
		cause := p.accusers[by].cause
		if by == c.cfg.Self {
			cause = p.cause
		}
		if cause != Trusted {
			all = append(all, by)
		}
		if cause == Refused {
			refused = append(refused, by)
		}
	}
	return all, refused
}
