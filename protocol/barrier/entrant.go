package barrier

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// entering is who enters on this node.
type entering struct {
	groups  map[Key]*group
	attempt uint64 // the last one
	turns   uint64
	waiters map[uint64]waiter // by call
	queries map[uint64]*query
}

// waiter is who a call waits for.
type waiter struct {
	g *group
	p *participant
}

// group is all participants of a barrier on this node. What they ask for goes out
// together: the next message waits for the answer to the last one.
type group struct {
	key      Key
	cfg      Config
	made     time.Duration
	parts    map[Entry]*participant
	watches  []uint64
	watch    bool          // the callbacks are here
	watching bool          // the primary knows
	watchAt  time.Duration // since when it is to: what was said before is of an earlier Watch
	unwatch  bool          // they were, and the primary may not know
	news     bool          // there may be something to be sent
	untilAt  time.Duration // when the first of those who hold the semaphore does not any more; 0: never
	warnAt   time.Duration // when the time of one who waits is almost over; 0: never
	sent     time.Duration
	awaits   bool // an answer to what was sent
	tries    int  // since the last answer
	heard    time.Duration
	answered bool // the present primary has
	term     uint64
	last     Standing
}

type stage uint8

const (
	asking    stage = iota // has no answer
	waits                  // is registered
	holds                  // the semaphore
	releasing              // the semaphore, or gives up waiting for it
)

type participant struct {
	Entry
	turn    uint64 // the order in which they came
	attempt uint64
	stage   stage
	calls   []uint64
	left    uint64        // the attempt that is to be released, if it is not 0: this one, or the one before
	exits   []uint64      // calls that wait for that
	until   time.Duration // then it does not hold the semaphore any more, whatever is heard; 0: for ever
	fresh   bool          // until is as late as it can be
	due     time.Duration // of the first call; 0: none
	warned  bool          // has asked how things stand, as its time is almost over
}

// query is a CallHosts.
type query struct {
	id   uint64
	key  Key
	sent time.Duration
	out  bool
}

// call takes what the application asks for.
func (c *Core) call(e Call) {
	if e.Kind == CallHosts {
		c.queries[e.ID] = &query{id: e.ID, key: e.Key}
		return
	}
	g := c.groups[e.Key]
	if e.Kind == CallRelease {
		c.releaseCall(g, e)
		return
	}
	if g != nil {
		if field, same := g.cfg.Equal(e.Config); !same {
			c.emit(Done{ID: e.ID, Verdict: Mismatch, Field: field, Last: g.last})
			return
		}
	} else {
		g = &group{key: e.Key, cfg: e.Config, made: c.now, parts: map[Entry]*participant{}}
		c.groups[e.Key] = g
	}
	if e.Kind == CallUnwatch {
		g.watch, g.watching, g.unwatch, g.news = false, false, true, true
		c.emit(Done{ID: e.ID})
		return
	}
	if e.Kind == CallWatch {
		g.watch, g.unwatch = true, false
		if g.watching {
			c.emit(Done{ID: e.ID, Last: g.last, Term: g.term})
			return
		}
		if len(g.watches) == 0 {
			g.watchAt = c.now
		}
		g.news = true
		g.watches = append(g.watches, e.ID)
		c.waiters[e.ID] = waiter{g: g}
		return
	}
	if e.Attempt != 0 { // of an earlier instance
		p := c.add(g, e.Entry, e.Attempt)
		if p.stage = holds; e.Kind == CallFree {
			p.stage, p.left = releasing, e.Attempt
		}
		return
	}
	p := g.parts[e.Entry]
	if p == nil {
		c.attempt++
		p = c.add(g, e.Entry, c.attempt)
	}
	if g.cfg.Semaphore.on() && (p.stage == holds || len(p.calls) > 0) {
		c.emit(Done{ID: e.ID, Outcome: HeldAlready, Last: g.last})
		return
	}
	if p.stage == releasing { // again, before the last release is known
		c.attempt++
		p.attempt, p.stage, g.news = c.attempt, asking, true
	}
	p.calls = append(p.calls, e.ID)
	c.waiters[e.ID] = waiter{g, p}
	if e.Deadline > 0 && (p.due == 0 || e.Deadline < p.due) {
		p.due, p.warned = e.Deadline, false
		g.warnBy(p)
	}
}

func (c *Core) add(g *group, e Entry, attempt uint64) *participant {
	c.turns++
	p := &participant{Entry: e, turn: c.turns, attempt: attempt}
	g.parts[e], g.news = p, true
	return p
}

// all returns the participants in the order in which they came.
func (g *group) all() []*participant {
	return slices.SortedFunc(maps.Values(g.parts), func(a, b *participant) int { return cmp.Compare(a.turn, b.turn) })
}

// warnBy has the group ask once more before p's time is over.
func (g *group) warnBy(p *participant) {
	if at := max(1, p.due-warning); p.due > 0 && !p.warned && (g.warnAt == 0 || at < g.warnAt) {
		g.warnAt = at
	}
}

// releaseCall has a participant leave the semaphore.
func (c *Core) releaseCall(g *group, e Call) {
	var p *participant
	if g != nil {
		p = g.parts[e.Entry]
	}
	if p == nil || p.stage != holds && (p.stage != releasing || p.left == 0) {
		c.emit(Done{ID: e.ID, Outcome: NotHeld})
		return
	}
	p.stage, p.left, g.news = releasing, p.attempt, true
	p.exits = append(p.exits, e.ID)
	c.waiters[e.ID] = waiter{g, p}
}

// giveUp ends a call that its caller does not wait for any more.
func (c *Core) giveUp(id uint64) {
	if q := c.queries[id]; q != nil {
		delete(c.queries, id)
		c.emit(GivenUp{ID: id, Primary: c.primary(q.key)})
		return
	}
	w, ok := c.waiters[id]
	if !ok {
		return
	}
	delete(c.waiters, id)
	g, p := w.g, w.p
	given := GivenUp{ID: id, Primary: c.primary(g.key), Heard: g.answered && p != nil && slices.Contains(p.calls, id), Last: g.last}
	defer func() { c.emit(given) }()
	if p == nil {
		g.watches = slices.DeleteFunc(g.watches, func(c uint64) bool { return c == id })
		return
	}
	gone := func(c uint64) bool { return c == id }
	p.calls, p.exits = slices.DeleteFunc(p.calls, gone), slices.DeleteFunc(p.exits, gone)
	switch {
	case len(p.calls) > 0 || p.stage == releasing || p.stage == holds: // others wait; or it goes on
	case g.cfg.Semaphore.on():
		p.stage, p.left, g.news = releasing, p.attempt, true // it waits no more, and holds nothing that it does not know of
		given.Frees = p.attempt
	case p.stage == waits:
		delete(g.parts, p.Entry)
	} // else it is not known to have entered, and enters nevertheless
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

// heeds reports whether what a primary of term says counts, and notes it.
func (c *Core) heeds(g *group, term uint64) bool {
	return g != nil && term >= c.fence && term >= g.term
}

// answered takes what the primary says.
func (c *Core) answered(m Answers) {
	g := c.groups[m.Key]
	if !c.heeds(g, m.Term) {
		return
	}
	if m.Field != "" {
		if m.Stamp >= g.made { // and not of an earlier one with another configuration
			c.mismatch(g, m)
		}
		return
	}
	g.term, g.awaits, g.answered, g.tries, g.heard, g.last = m.Term, false, true, 0, c.now, m.Standing
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

// tell is what the primary says to one participant. Of an earlier attempt it says
// nothing to a later one, if the barrier is a semaphore.
func (c *Core) tell(g *group, p *participant, a Answered, stamp time.Duration) {
	semaphore := g.cfg.Semaphore.on()
	if over := a.Verdict == Released || a.Verdict == TimedOut; p.left != 0 && (a.Attempt > p.left || a.Attempt == p.left && over) {
		p.left = 0
		c.emit(Freed{Key: g.key, Entry: p.Entry})
		for _, id := range p.exits {
			delete(c.waiters, id)
			c.emit(Done{ID: id, Verdict: Released, Last: g.last, Term: g.term})
		}
		p.exits = nil
		if p.stage == releasing {
			delete(g.parts, p.Entry)
			return
		}
	}
	if semaphore && a.Attempt > p.attempt { // it has entered at another node
		switch p.stage {
		case holds: // which has taken its place
			c.lost(g, p)
		case asking, waits:
			c.attempt = max(c.attempt, a.Attempt) + 1
			p.attempt, p.stage = c.attempt, asking
		}
		return
	}
	if semaphore && a.Attempt != p.attempt {
		return
	}
	switch a.Verdict {
	case Registered:
		if p.stage == asking {
			p.stage = waits
			if len(p.calls) == 0 && !semaphore {
				delete(g.parts, p.Entry)
			}
		}
	case Fire:
		if !semaphore {
			c.finish(g, p, a.Verdict)
			return
		}
		c.admitted(g, p, a.Left, stamp)
	case LateFire, Behind:
		c.finish(g, p, a.Verdict)
	case Released, TimedOut:
		if p.stage == holds {
			c.lost(g, p)
			return
		}
		// It held the semaphore, or its node was taken for gone, and it was not told: it
		// tries again.
		c.attempt++
		p.attempt, p.stage = c.attempt, asking
	}
}

// admitted lets a participant hold the semaphore, for as long as it surely does: what
// the primary said was true after the stamp. If that is over it asks again; and also if
// this node is not surely a member: what it holds may have been taken for free.
func (c *Core) admitted(g *group, p *participant, left, stamp time.Duration) {
	until := time.Duration(0)
	if left > 0 {
		until = stamp + left
	}
	if left > 0 && until <= c.now || c.now >= c.leased && p.stage != holds {
		if p.stage == waits {
			p.stage = asking
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

// expire ends what is held for too long.
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
	delete(g.parts, p.Entry)
}

// done answers a participant's calls.
func (c *Core) done(g *group, p *participant, v Verdict) {
	for _, id := range p.calls {
		delete(c.waiters, id)
		c.emit(Done{ID: id, Verdict: v, Last: g.last, Term: g.term, Attempt: p.attempt})
	}
	p.calls, p.due = nil, 0
}

func (c *Core) finish(g *group, p *participant, v Verdict) {
	c.done(g, p, v)
	delete(g.parts, p.Entry)
}

// mismatch ends all calls: the barrier is another one than they took it for.
func (c *Core) mismatch(g *group, m Answers) {
	end := func(id uint64) {
		delete(c.waiters, id)
		c.emit(Done{ID: id, Verdict: Mismatch, Field: m.Field, Last: m.Standing, Term: m.Term})
	}
	for _, p := range g.all() {
		for _, id := range append(p.calls, p.exits...) {
			end(id)
		}
	}
	for _, id := range g.watches {
		end(id)
	}
	delete(c.groups, g.key)
}

// question is for the callbacks.
func (c *Core) question(m Question) {
	if g := c.groups[m.Key]; c.heeds(g, m.Term) && g.watch {
		c.emit(Callback{Key: m.Key, Asked: m.Asked})
	}
}

// replied sends what a callback says to the primary. If it gets lost, what would be
// without the callback counts.
func (c *Core) replied(e Replied) {
	if to := c.primary(e.Key); to != "" {
		c.send(to, Reply(e))
	}
}

func (c *Core) told(m Told) {
	if g := c.groups[m.Key]; c.heeds(g, m.Term) && g.watch {
		c.emit(Notice{Key: m.Key, Happened: m.Happened})
	}
}

func (c *Core) passed(m Passed) {
	if c.queries[m.ID] == nil || m.Term < c.fence {
		return
	}
	delete(c.queries, m.ID)
	d := Done{ID: m.ID, Term: m.Term, Hosts: m.Hosts, Last: m.Standing}
	if !m.Known {
		d.Outcome = Unknown
	}
	c.emit(d)
}
