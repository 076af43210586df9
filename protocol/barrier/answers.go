package barrier

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// heeds reports whether messages of a primary of term count, and notes the term.
func (c *Core) heeds(g *group, term uint64) bool {
	return g != nil && !c.terms.Outdated(term) && term >= g.term
}

// answered takes a primary's answers.
func (c *Core) answered(from phalanx.NodeID, m Answers) {
	g := c.groups[m.Key]
	if !c.terms.Outdated(m.Term) {
		c.disown(g, m)
	}
	if !c.heeds(g, m.Term) {
		return
	}
	c.stir(g)
	if g.term, g.awaits = m.Term, nil; from == c.primary(m.Key) { // a former or later one may wait for the present one
		g.awaits = m.Awaits
	}
	if m.delayed() {
		return
	}
	if m.Field != "" {
		if m.Stamp >= g.made { // and not of an earlier one with another configuration
			c.mismatch(g, m)
		}
		return
	}
	if !m.More {
		if g.sends.Waits() {
			c.askTrip.Took(min(c.now-g.asked, c.cfg.Poll))
		}
		c.heardOf(g)
	}
	g.batch, g.answered, g.heard, g.last = m.Batch, true, c.now, m.Standing
	if m.Unknown {
		for _, p := range g.parts {
			if p.stage == waits {
				p.stage = asking
			}
		}
	}
	for _, a := range m.List {
		if p := g.parts[a.Entry]; p != nil {
			c.tell(g, p, a, m.Stamp)
		}
	}
	if m.More {
		return // the next part may answer the other participants
	}
	for _, p := range g.parts {
		g.news = g.news || p.stage == asking || p.left != 0 || p.stage == holds && !p.fresh
	}
	g.news = g.news || g.unwatch || g.watch && !g.watching
	if g.unwatch && !m.Watched {
		g.unwatch = false
	}
	if g.watch && !g.watching && m.Watched && m.Stamp >= g.watchAt {
		g.watching = true
		for _, id := range g.watches {
			delete(c.waiters, id)
			c.emit(Done{ID: id, Last: g.last, Term: m.Term})
		}
		g.watches = nil
	}
}

// disown withdraws entries that no caller here has asked for: a late copy may have entered.
func (c *Core) disown(g *group, m Answers) {
	r := Reached{Key: m.Key, Stamp: c.now}
	for _, a := range m.List {
		if a.Verdict == Registered && (g == nil || g.parts[a.Entry] == nil) {
			r.Requests = append(r.Requests, Request{Entry: a.Entry, Attempt: a.Attempt, Release: true})
		}
	}
	if to := c.primary(m.Key); len(r.Requests) > 0 && to != "" {
		c.send(to, r)
	}
}

// withdrawn takes the primary's answer to a participant that withdraws, or has and enters
// again. It reports whether the answer says more.
func (c *Core) withdrawn(g *group, p *participant, a Answered) (more bool) {
	switch {
	case a.Verdict == Fire || a.Verdict == LateFire || a.Verdict == Behind || a.Verdict == Doubtful || a.Verdict == Deleted && a.Attempt >= p.left:
		c.finish(g, p, a.Verdict)
		return false
	case a.Verdict != Released || a.Attempt < p.left:
		return true
	}
	c.gaveUp(g, p, true)
	c.freed(g, p)
	if p.stage == releasing {
		c.quit(g, p)
	}
	return false
}

// leaves takes the primary's answer to a participant that leaves a double barrier. The
// participant knows that it has passed.
func (c *Core) leaves(g *group, p *participant, a Answered) {
	switch a.Verdict {
	case Leaving:
		if p.stage = waits; len(p.calls) == 0 { // it was given up
			c.quit(g, p)
		}
	case Outside:
		if _, inside := c.insiders[insider{g.key, p.Entry}]; inside { // the managers that knew it have gone
			c.finish(g, p, Doubtful)
			return
		}
		c.finish(g, p, Outside)
	case Departed, Doubtful, Deleted:
		c.finish(g, p, a.Verdict)
	}
}

// tell takes the primary's answer to one participant. If the barrier is a semaphore, an answer
// to an earlier attempt does not count for a later one.
func (c *Core) tell(g *group, p *participant, a Answered, stamp time.Duration) {
	semaphore := g.cfg.Semaphore.on()
	if a.Old && a.Attempt != p.left {
		switch {
		case a.Attempt < p.attempt:
			return
		case a.Attempt > p.attempt: // the clock, from which attempts begin, went back
			c.attempt = max(c.attempt, a.Attempt) + 1
			p.attempt, p.stage, p.counted = c.attempt, asking, false
			return
		}
	}
	if p.leave {
		if a.Attempt >= p.attempt {
			c.leaves(g, p, a)
		}
		return
	}
	if a.Verdict == Leaving || a.Verdict == Departed { // it has passed, and another one of the same entry leaves
		a.Verdict = Fire
	}
	if !semaphore {
		if p.left != 0 && !c.withdrawn(g, p, a) {
			return
		}
		if (a.Verdict == Registered || a.Verdict == Released || a.Verdict == Deleted) && a.Attempt < p.attempt {
			return // it is about an attempt that was withdrawn
		}
	} else if over := a.Verdict == Released || a.Verdict == TimedOut || a.Verdict == Deleted; p.left != 0 && (a.Attempt > p.left || a.Attempt == p.left && over) {
		c.freed(g, p)
		for _, id := range p.exits {
			delete(c.waiters, id)
			c.emit(Done{ID: id, Verdict: Released, Last: g.last, Term: g.term})
		}
		p.exits = nil
		if p.stage == releasing {
			c.quit(g, p)
			return
		}
	}
	if semaphore && a.Attempt > p.attempt { // it has entered at another node
		switch p.stage {
		case holds: // which has taken its place
			c.lost(g, p)
		case waits: // would both try with greater attempts, they would do so for ever
			c.overtaken(g, p)
		case asking:
			c.attempt = max(c.attempt, a.Attempt) + 1
			p.attempt = c.attempt
		}
		return
	}
	if semaphore && a.Attempt != p.attempt {
		return
	}
	switch a.Verdict {
	case Registered:
		p.counted = !semaphore
		if p.stage == asking {
			p.stage = waits
		}
	case Fire:
		if !semaphore {
			c.finish(g, p, a.Verdict)
			return
		}
		c.admitted(g, p, a.Left, stamp)
	case LateFire, Behind, Doubtful, Deleted:
		c.finish(g, p, a.Verdict)
	case Released, TimedOut:
		if p.stage == holds {
			c.lost(g, p)
			return
		}
		// It held the semaphore, or its node was taken for gone, and it was not told: it
		// tries again.
		c.attempt = max(c.attempt, a.Attempt) + 1
		p.attempt, p.stage, p.counted = c.attempt, asking, false
	}
}

// admitted lets a participant hold the semaphore, for as long as it surely does: the primary's
// answer was true after the stamp. When that time is over the participant asks again; and also, once
// there is a lease, if this node is not surely a member: others may have taken its holds for free.
func (c *Core) admitted(g *group, p *participant, left, stamp time.Duration) {
	until := time.Duration(0)
	if left > 0 {
		until = stamp + left
	}
	switch {
	case left > 0 && until <= c.now:
		if p.stage == waits {
			p.stage = asking
		}
		return
	case c.now >= c.leased && (p.stage == asking || p.stage == waits):
		p.stage = waits
		if !g.unleased {
			g.unleased = true
			c.unleased = append(c.unleased, g)
		}
		return
	}
	switch p.stage {
	case asking, waits:
		p.stage, p.until, p.fresh = holds, until, left == 0
		c.done(g, p, Fire)
	case holds:
		p.until, p.fresh = max(p.until, until), true
	}
	if p.until > 0 && (g.untilAt == 0 || p.until < g.untilAt) {
		g.untilAt = p.until
	}
}

// askUnleased repeats the requests of participants that could not be let in without a lease.
func (c *Core) askUnleased() {
	for _, g := range c.unleased {
		g.unleased = false
		for _, p := range g.parts {
			if p.stage == waits {
				p.stage, g.news = asking, true
			}
		}
		c.stir(g)
	}
	c.unleased = nil
}

// expire ends holds that last too long.
func (c *Core) expire(g *group) {
	if g.untilAt == 0 || c.now < g.untilAt {
		return
	}
	g.untilAt = 0
	for _, p := range g.all() {
		if p.stage != holds || p.until == 0 {
			continue
		}
		if c.now >= p.until {
			c.lost(g, p)
		} else if g.untilAt == 0 || p.until < g.untilAt {
			g.untilAt = p.until
		}
	}
}

func (c *Core) lost(g *group, p *participant) {
	c.emit(Lost{Key: g.key, Entry: p.Entry})
	c.quit(g, p)
}

// overtaken ends the wait of a participant whose entry has come to the semaphore at another node
// since.
func (c *Core) overtaken(g *group, p *participant) {
	for _, id := range p.calls {
		delete(c.waiters, id)
		c.emit(Done{ID: id, Outcome: HeldAlready, Last: g.last, Term: g.term})
	}
	p.calls = nil
	c.quit(g, p)
}

// done answers a participant's calls.
func (c *Core) done(g *group, p *participant, v Verdict) {
	for _, id := range append(p.calls, p.leaving...) {
		delete(c.waiters, id)
		c.emit(Done{ID: id, Verdict: v, Last: g.last, Term: g.term, Batch: g.batch, Attempt: p.attempt})
	}
	p.calls, p.leaving, p.due = nil, nil, 0
}

func (c *Core) finish(g *group, p *participant, v Verdict) {
	told := len(p.calls)+len(p.leaving) > 0
	c.done(g, p, v)
	c.quit(g, p)
	passed := !p.leave && g.cfg.Double && (v == Fire || v == LateFire)
	_, inside := c.insiders[insider{g.key, p.Entry}]
	switch {
	case p.leave:
		delete(c.insiders, insider{g.key, p.Entry})
	case passed && told:
		c.passes(g.key, p.Entry)
	case passed && !inside: // no caller here knows that it is inside: others must not wait for it
		c.attempt++
		c.add(g, p.Entry, c.attempt).leave = true
	}
}

// mismatch ends all calls: the barrier is another one than they took it for.
func (c *Core) mismatch(g *group, m Answers) {
	end := func(id uint64) {
		delete(c.waiters, id)
		c.emit(Done{ID: id, Verdict: Mismatch, Field: m.Field, Last: m.Standing, Term: m.Term})
	}
	for _, p := range g.all() {
		for _, id := range slices.Concat(p.calls, p.exits, p.leaving) {
			end(id)
		}
		c.freed(g, p)
	}
	for _, id := range g.watches {
		end(id)
	}
	c.end(g)
}

// questioned is for the callbacks.
func (c *Core) questioned(m Question) {
	if g := c.groups[m.Key]; c.heeds(g, m.Term) && g.watch {
		for _, a := range m.Asked {
			c.emit(Callback{Key: m.Key, Asked: a})
		}
	}
}

// replied sends a callback's answer to the primary. If it gets lost, the primary decides as
// without the callback.
func (c *Core) replied(e Replied) {
	if to := c.primary(e.Key); to != "" {
		c.send(to, Reply(e))
	}
}

func (c *Core) told(m Notify) {
	if g := c.groups[m.Key]; c.heeds(g, m.Term) && g.watch {
		c.emit(Notice{Key: m.Key, Happened: m.Happened})
	}
}
