package barrier

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// warnBy has the group ask once more before p's time is over.
func (g *group) warnBy(p *participant) {
	if at := max(1, p.due-warning); p.due > 0 && !p.warned && (g.warnAt == 0 || at < g.warnAt) {
		g.warnAt = at
	}
}

// orphan notes groups whose managers are all gone in the next view: they may have counted their
// requests, and no node is left that knows.
func (c *Core) orphan(next Viewed) {
	gone := func(id phalanx.NodeID) bool { return !slices.Contains(next.Members, id) }
	for k, g := range c.groups {
		if len(c.list) == 0 || g.cfg.Semaphore.on() {
			continue
		}
		if g.answered || len(g.knew) == 0 { // else the managers of now may have learned nothing yet
			g.knew = slices.Clone(c.managers(k))
		}
		if g.knew = slices.DeleteFunc(g.knew, gone); len(g.knew) > 0 {
			continue
		}
		for _, p := range g.parts {
			p.counted = p.counted || p.told && !p.leave
		}
	}
}

// newPrimaries has everything asked for again: primaries may be others.
func (c *Core) newPrimaries() {
	c.askTrip = 0
	c.onWay, c.queued = map[phalanx.NodeID]int{}, map[phalanx.NodeID][]*group{}
	for _, k := range sorted(c.groups) {
		g := c.groups[k]
		c.stir(g)
		g.held, g.to = false, ""
		g.answered, g.awaits, g.watching, g.news = false, nil, false, true
		g.sends.Answered()
		g.asked = c.now
		for _, p := range g.parts {
			if p.stage == waits {
				p.stage = asking
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.queries)) {
		c.queries[id].asks.Answered()
		c.queriesDue.Set(id, c.now)
	}
	c.joinAnew()
}

// outstanding is the requests that the primary has to know: the unanswered ones, or with all
// also requests that it may have lost.
func (g *group) outstanding(all bool, now time.Duration) (m Reached, some bool) {
	m, some, _ = g.asks(all, now, 0, math.MaxInt)
	return m, some
}

// asks is a part of that: requests of participants that came after turn, as many as weigh no more
// than room, and at least one. It returns the turn after which there are more, or 0.
func (g *group) asks(all bool, now time.Duration, turn uint64, room int) (m Reached, some bool, last uint64) {
	m = Reached{Key: g.key, Config: g.cfg}
	if turn == 0 {
		m.Watch, m.Unwatch = g.watch && (all || !g.watching), g.unwatch
	}
	for _, p := range g.all() {
		if p.turn <= turn {
			continue
		}
		if room < 0 && len(m.Requests) > 0 {
			return m, true, last
		}
		last = p.turn
		was := len(m.Requests)
		if p.left != 0 {
			m.Requests = append(m.Requests, Request{Entry: p.Entry, Attempt: p.left, Release: true, Waits: p.counted})
		}
		if p.stage == asking || p.stage == waits && all || p.stage == holds && (all || !g.answered || !p.fresh) {
			p.told = true
			m.Requests = append(m.Requests, Request{Entry: p.Entry, Attempt: p.attempt, Holds: p.stage == holds, Waits: p.stage == waits || p.counted, Ago: now - p.came, Leave: p.leave})
		}
		for i := range m.Requests[was:] {
			room -= m.Requests[was+i].Weight()
		}
	}
	return m, m.Watch || m.Unwatch || len(m.Requests) > 0, 0
}

// stir takes note that there may be something to be sent of g.
func (c *Core) stir(g *group) {
	if g != nil && !g.stirred {
		g.stirred = true
		c.stirred = append(c.stirred, g)
	}
}

// flush sends all requests that are due. It costs nothing for groups without news whose time
// has not come.
func (c *Core) flush() {
	for k, ok := c.groupsDue.Take(c.now); ok; k, ok = c.groupsDue.Take(c.now) {
		c.stir(c.groups[k])
	}
	c.askStirred()
	for _, to := range slices.Sorted(maps.Keys(c.queued)) {
		for len(c.queued[to]) > 0 && c.onWay[to] < c.cfg.Window {
			next := c.queued[to][0]
			c.queued[to] = c.queued[to][1:]
			next.held = false
			c.stir(next)
			c.askStirred()
		}
		if len(c.queued[to]) == 0 {
			delete(c.queued, to)
		}
	}
	for id, ok := c.queriesDue.Take(c.now); ok; id, ok = c.queriesDue.Take(c.now) {
		if q := c.queries[id]; c.primary(q.key) != "" {
			q.asks.Sent(c.now)
			c.queriesDue.Set(id, q.asks.At(c.pauses(c.askTrip)))
			if q.remove {
				c.send(c.primary(q.key), Remove{Key: q.key, ID: id})
				continue
			}
			c.send(c.primary(q.key), WhoPassed{Key: q.key, ID: id, After: q.after, Brief: q.brief})
		}
	}
	c.askJoins()
}

func (c *Core) askStirred() {
	for i := 0; i < len(c.stirred); i++ {
		g := c.stirred[i]
		g.stirred = false
		if c.groups[g.key] != g {
			continue
		}
		c.ask(g)
		if at, ok := c.askAt(g); ok && c.groups[g.key] == g {
			c.groupsDue.Set(g.key, at)
		} else {
			c.groupsDue.Cancel(g.key)
		}
	}
	clear(c.stirred)
	c.stirred = c.stirred[:0]
}

// ask sends the requests of g.
func (c *Core) ask(g *group) {
	c.expire(g)
	c.leave(g)
	if len(g.parts) == 0 && !g.watch && !g.unwatch {
		c.end(g)
		return
	}
	to := c.primary(g.key)
	if to == "" || g.sends.Waits() && c.now < g.sends.At(c.pauses(c.askTrip)) {
		return
	}
	poll := len(g.parts) > 0 && c.now-max(g.heard, g.sends.Last()) >= c.poll()
	if !g.sends.Waits() && !g.news && !poll && !g.warn(c.now) {
		return
	}
	m, some, _ := g.asks(false, c.now, 0, c.cfg.Part)
	if g.news && !g.sends.Waits() && !some && !poll {
		g.news = false
		return
	}
	if g.sends.Times() >= yields {
		c.yield(g)
	}
	if !g.sends.Waits() {
		if c.onWay[to] >= c.cfg.Window {
			if !g.held {
				g.held = true
				c.queued[to] = append(c.queued[to], g)
			}
			return
		}
		g.to, g.asked, g.held = to, c.now, false // it may be queued, and have found a place before its turn
		c.onWay[to]++
	}
	g.news = false
	m.Stamp = c.now
	g.sends.Sent(c.now)
	c.send(to, m)
}

// heardOf takes note that the question about g is answered, or not awaited any more.
func (c *Core) heardOf(g *group) {
	g.sends.Answered()
	c.yield(g)
}

// yields is after how many questions without an answer a group lets others have its turn: a
// backup of its barrier may hang, and theirs may not.
const yields = 3

func (c *Core) yield(g *group) {
	if g.to != "" {
		c.onWay[g.to]--
		g.to = ""
	}
}

// poll is how long a group waits to hear something before it asks how it stands. All
// together ask a thousand times a second at most.
func (c *Core) poll() time.Duration {
	return max(c.cfg.Poll, time.Duration(len(c.groups))*time.Millisecond)
}

// end forgets a group that no caller needs any more.
func (c *Core) end(g *group) {
	c.heardOf(g)
	c.parts -= len(g.parts)
	if c.groups[g.key] == g {
		c.words -= 2*expectWeight(g.cfg.Expect) + 2*len(g.key.Name)
	}
	delete(c.groups, g.key)
	c.groupsDue.Cancel(g.key)
}

// endQuery ends a query.
func (c *Core) endQuery(id uint64) {
	delete(c.queries, id)
	c.queriesDue.Cancel(id)
}

// warning is how long before a participant's time is over it asks once more how
// things stand, so that its error says it.
const warning = 100 * time.Millisecond

// warn reports whether a participant asks once more.
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

// askAt returns when there is something to be done of g, if nothing is heard of it until
// then.
func (c *Core) askAt(g *group) (at time.Duration, ok bool) {
	least := func(d time.Duration) {
		if !ok || d < at {
			at, ok = d, true
		}
	}
	if g.untilAt > 0 {
		least(g.untilAt)
	}
	if g.leaveAt > 0 {
		least(g.leaveAt)
	}
	switch {
	case c.primary(g.key) == "" || g.held:
	case g.sends.Waits():
		least(g.sends.At(c.pauses(c.askTrip)))
	case len(g.parts) > 0:
		least(max(g.heard, g.sends.Last()) + c.poll())
		if g.warnAt > 0 {
			least(g.warnAt)
		}
	}
	return at, ok
}

// enteringDue is when something is to be sent.
func (c *Core) enteringDue() (at time.Duration, ok bool) {
	at, ok = c.groupsDue.Due()
	for _, f := range []func() (time.Duration, bool){c.queriesDue.Due, c.joinsDue.Due} {
		if d, some := f(); some && (!ok || d < at) {
			at, ok = d, true
		}
	}
	return at, ok
}
