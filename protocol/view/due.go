package view

import (
	"math"
	"time"
)

// forever lies behind every time.
const forever time.Duration = math.MaxInt64 / 2

// Due returns when the core has to hear of the time again, at the latest; every
// Step can make that earlier or later. A Step that comes much later shows that this node
// hung.
func (c *Core) Due() time.Duration {
	soon := c.now + c.cfg.Stagger
	switch {
	case c.fenced:
		return forever
	case !c.member || len(c.own) > 0 || c.election.on || c.forming != nil || c.halted() || c.alarm.rings():
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
		due := c.lead.beat + c.voterEvery()
		if len(c.view.Missing) > 0 {
			due = min(due, c.lead.reminded+remindEvery)
		}
		return due
	case c.leader == "" || c.quiet() >= c.cfg.SilentAfter:
		return soon
	}
	due := c.beat + c.beatEvery()
	if c.asked > 0 {
		due = min(due, max(c.heard, c.asked)+c.cfg.SilentAfter)
	}
	if c.cfg.IdleAfter == 0 {
		due = min(due, c.heard+c.cfg.SilentAfter)
	}
	return due
}
