package barrier

import (
	"maps"
	"slices"
	"time"
)

// warnBy has the group ask once more before p's time is over.
func (g *group) warnBy(p *participant) {
	if at := max(1, p.due-warning); p.due > 0 && !p.warned && (g.warnAt == 0 || at < g.warnAt) {
		g.warnAt = at
	}
}

// newPrimaries has everything asked for again: primaries may be others.
func (c *Core) newPrimaries() {
	for _, g := range c.groups {
		g.awaits, g.answered, g.watching, g.tries, g.news = false, false, false, 0, true
		for _, p := range g.parts {
			if p.stage == waits {
				p.stage = asking
			}
		}
	}
	for _, q := range c.queries {
		q.out = false
	}
}

// outstanding is what the primary is to know: what it has not answered, or with all
// what it may have lost too.
func (g *group) outstanding(all bool) (m Reached, some bool) {
	m = Reached{Key: g.key, Config: g.cfg, Watch: g.watch && (all || !g.watching), Unwatch: g.unwatch}
	for _, p := range g.all() {
		if p.left != 0 {
			m.Requests = append(m.Requests, Request{Entry: p.Entry, Attempt: p.left, Release: true})
		}
		if p.stage == asking || p.stage == waits && all || p.stage == holds && (all || !g.answered || !p.fresh) {
			m.Requests = append(m.Requests, Request{Entry: p.Entry, Attempt: p.attempt, Holds: p.stage == holds, Waits: p.stage == waits})
		}
	}
	return m, m.Watch || m.Unwatch || len(m.Requests) > 0
}

// flush sends what there is to be asked.
func (c *Core) flush() {
	for _, k := range sorted(c.groups) {
		g := c.groups[k]
		c.expire(g)
		if len(g.parts) == 0 && !g.watch && !g.unwatch {
			delete(c.groups, k)
			continue
		}
		to := c.primary(k)
		if to == "" || g.awaits && c.now-g.sent < c.again(g.tries) {
			continue
		}
		poll := len(g.parts) > 0 && c.now-max(g.heard, g.sent) >= c.cfg.Poll
		if !g.awaits && !g.news && !poll && !g.warn(c.now) {
			continue
		}
		m, some := g.outstanding(false)
		if g.news && !g.awaits && !some && !poll {
			g.news = false
			continue
		}
		g.sent, g.awaits, g.news = c.now, true, false
		m.Stamp = c.now
		g.tries++
		c.send(to, m)
	}
	for _, id := range slices.Sorted(maps.Keys(c.queries)) {
		q := c.queries[id]
		if to := c.primary(q.key); to != "" && (!q.out || c.now-q.sent >= c.cfg.Resend) {
			q.sent, q.out = c.now, true
			c.send(to, WhoPassed{Key: q.key, ID: id})
		}
	}
}

// warning is how long before a participant's time is over it asks once more how
// things stand, so that its error says it.
const warning = 100 * time.Millisecond

// warn reports whether there is one that asks once more.
func (g *group) warn(now time.Duration) bool {
	if g.warnAt == 0 || now < g.warnAt {
		return false
	}
	some := false
	g.warnAt = 0
	for _, p := range g.parts {
		if p.due > 0 && !p.warned && now >= p.due-warning {
			p.warned, some = true, true
		}
		g.warnBy(p)
	}
	return some
}

// enteringDue is when something is to be sent.
func (c *Core) enteringDue() (at time.Duration, ok bool) {
	least := func(d time.Duration) {
		if !ok || d < at {
			at, ok = d, true
		}
	}
	for k, g := range c.groups {
		if g.untilAt > 0 {
			least(g.untilAt)
		}
		switch {
		case c.primary(k) == "":
		case g.awaits:
			least(g.sent + c.again(g.tries))
		case len(g.parts) > 0:
			least(max(g.heard, g.sent) + c.cfg.Poll)
			if g.warnAt > 0 {
				least(g.warnAt)
			}
		}
	}
	for _, q := range c.queries {
		if q.out {
			least(q.sent + c.cfg.Resend)
		}
	}
	return at, ok
}
