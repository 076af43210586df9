package view

import (
	"math"
	"time"
)

// forever lies behind every time.
const forever time.Duration = math.MaxInt64 / 2

// Due returns when the core has to hear of the time again, at the latest; every
// Step can make that earlier. While all is well that is rarer than Stagger, but
// often enough to tell a hung node from a quiet one.
func (c *Core) Due() time.Duration {
	soon := c.now + c.cfg.Stagger
	switch {
	case c.fenced:
		return forever
	case !c.member || len(c.own) > 0 || c.election.on || c.forming != nil:
		return soon
	case c.lead != nil:
		if len(c.lead.held) > 0 {
			return soon
		}
		for _, m := range c.view.Members {
			if m.ID != c.cfg.Self.ID && c.lead.acked[m.ID] < c.view.Number {
				return soon
			}
		}
		return c.lead.beat + c.cfg.VoterEvery
	case c.leader == "" || c.now-c.heard >= c.cfg.SilentAfter:
		return soon
	}
	return min(c.now+2*c.cfg.VoterEvery, c.beat+c.cfg.HeartbeatEvery, c.heard+c.cfg.SilentAfter)
}
