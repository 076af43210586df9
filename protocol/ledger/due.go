package ledger

import "time"

// Due returns when the core has to hear of the time again, at the latest, if it has to. Every
// Step can make that earlier or later.
func (c *Core) Due() (time.Duration, bool) {
	switch {
	case c.halted || c.node == nil:
		return 0, false
	case c.lead != nil && c.asleep && c.alone():
		return 0, false
	case c.lead != nil:
		return c.leaderDue(), true
	case !c.canStand():
		if c.leader == 0 {
			return 0, false
		}
		return c.silence(), true
	case !c.election.on:
		return c.silence(), true
	case c.disk.busy != nil:
		return 0, false // Written comes first
	}
	return c.election.next, true
}

func (c *Core) leaderDue() time.Duration {
	l := c.lead
	due := l.beat + c.beatEvery()
	if at, ok := l.appends.oldest(); ok && !l.appends.stalled {
		due = min(due, at+c.cfg.LateAfter)
	}
	if l.handing {
		return min(due, l.since+c.cfg.HandOverFor)
	}
	if c.disk.busy != nil && !c.alone() {
		due = min(due, c.disk.busy.since+c.cfg.LateAfter)
	}
	return due
}
