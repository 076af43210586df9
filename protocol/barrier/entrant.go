package barrier

import (
	"maps"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/agenda"
	"github.com/phalanx-go/phalanx/protocol/retry"
)

// entering are the participants on this node.
type entering struct {
	groups   map[Key]*group
	most     int                       // calls that waited, or barriers, since the maps were made
	insiders map[insider]time.Duration // entries that have passed a double barrier here, and since when
	parts    int                       // participants of all
	words    int                       // bytes of the names in configurations, and of the barriers' names
	attempt  uint64                    // the last one
	turns    uint64
	waiters  map[uint64]waiter // by call
	queries  map[uint64]*query
	stirred  []*group                    // groups that may have something to send now
	unleased []*group                    // with participants that are let in as soon as there is a lease
	onWay    map[phalanx.NodeID]int      // by primary: of how many groups it is asked
	queued   map[phalanx.NodeID][]*group // and which wait for their turn

	groupsDue  agenda.Agenda[Key] // when the others are looked at
	queriesDue agenda.Agenda[uint64]
	askTrip    retry.Trip // from a question to its answer
}

// insider is an entry that has passed a double barrier.
type insider struct {
	key   Key
	entry Entry
}

// insidersKept is of how many entries a node remembers that they are inside, however long ago they
// have passed.
const insidersKept = 1000

// passes takes note that an entry is inside a double barrier: its caller was told.
func (c *Core) passes(k Key, e Entry) {
	if len(c.insiders) > insidersKept {
		maps.DeleteFunc(c.insiders, func(_ insider, since time.Duration) bool { return c.now-since > 2*c.cfg.Linger })
	}
	if c.insiders == nil {
		c.insiders = map[insider]time.Duration{}
	}
	c.insiders[insider{k, e}] = c.now
}

// waiter is the subject of a waiting call.
type waiter struct {
	g *group
	p *participant
}

// group is all participants of a barrier on this node. Their requests go out together: the
// next message waits for the answer to the last one.
type group struct {
	key      Key
	cfg      Config
	made     time.Duration
	parts    map[Entry]*participant
	order    []*participant // as they came, with some that are gone
	watches  []uint64
	watch    bool          // the callbacks are here
	watching bool          // the primary knows
	watchAt  time.Duration // since when it is to: earlier answers are of an earlier Watch
	unwatch  bool          // they were, and the primary may not know
	news     bool          // there may be something to be sent
	untilAt  time.Duration // when the first holder of the semaphore loses it; 0: never
	warnAt   time.Duration // when the time of a waiting participant is almost over; 0: never
	leaveAt  time.Duration // when the first withdrawing participant stops waiting for the answer; 0: never
	sends    retry.Backoff // of messages since the last answer
	asked    time.Duration // when that was sent first
	heard    time.Duration
	answered bool             // the present primary has
	knew     []phalanx.NodeID // its managers when a primary answered last, except dead ones
	term     uint64
	batch    uint64
	last     Standing
	awaits   []phalanx.NodeID // nodes for which the present primary waits
	stirred  bool             // it is in entering.stirred
	held     bool             // and in entering.held
	unleased bool             // and in entering.unleased
	to       phalanx.NodeID   // in whose window it has a place; empty: in none
}

type stage uint8

const (
	asking    stage = iota // has no answer
	waits                  // is registered
	holds                  // the semaphore
	releasing              // the semaphore, or gives up waiting for it, or withdraws
)

type participant struct {
	Entry
	turn    uint64 // the order in which they came
	attempt uint64
	came    time.Duration
	stage   stage
	calls   []uint64
	left    uint64        // the attempt that is to be released, if it is not 0: this one, or the one before
	exits   []uint64      // calls that wait for that
	leaving []uint64      // and calls that were given up, and withdraw
	leaveBy time.Duration // then these are told that it is not known whether they count
	gave    GivenUp       // the state when the last of them was given up
	counted bool          // managers that are gone may have counted it, or the present ones have
	told    bool          // another node may have heard of it
	until   time.Duration // then it does not hold the semaphore any more, whatever is heard; 0: for ever
	fresh   bool          // until is as late as it can be
	leave   bool          // it has passed a double barrier, and leaves
	due     time.Duration // of the first call; 0: none
	gone    bool          // it is a participant no more
	warned  bool          // has asked how things stand, as its time is almost over
}

// query is a CallHosts.
type query struct {
	id     uint64
	key    Key
	brief  bool // how it stands is enough
	remove bool // it is a CallRemove
	asks   retry.Backoff
	after  Entry // the entries up to it have come
	hosts  map[string][]string
}

// call takes a call of the application.
func (c *Core) call(e Call) {
	c.entering.most = max(c.entering.most, len(c.waiters)+1, len(c.groups)+1)
	if e.Kind == CallHosts || e.Kind == CallStanding || e.Kind == CallRemove {
		c.queries[e.ID] = &query{id: e.ID, key: e.Key, brief: e.Kind == CallStanding, remove: e.Kind == CallRemove}
		c.queriesDue.Set(e.ID, c.now)
		return
	}
	if e.Kind == CallConfig {
		c.join(e)
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
	} else if e.Kind == CallUnwatch && e.Config.None() { // no caller has watched without one
		c.emit(Done{ID: e.ID})
		return
	} else {
		g = &group{key: e.Key, cfg: e.Config, made: c.now, parts: map[Entry]*participant{}}
		c.words += 2*expectWeight(g.cfg.Expect) + 2*len(g.key.Name)
		c.groups[e.Key] = g
	}
	c.stir(g)
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
		if p.stage, p.told = holds, true; e.Kind == CallFree {
			p.stage, p.left = releasing, e.Attempt
		}
		return
	}
	p := g.parts[e.Entry]
	switch leaves := e.Kind == CallLeave; {
	case p == nil || p.leave == leaves:
	case leaves: // it has not passed yet
		c.emit(Done{ID: e.ID, Verdict: Outside, Last: g.last})
		return
	default:
		c.emit(Done{ID: e.ID, Outcome: Leaves, Last: g.last})
		return
	}
	if p == nil {
		c.attempt++
		p = c.add(g, e.Entry, c.attempt)
		p.leave = e.Kind == CallLeave
	}
	if g.cfg.Semaphore.on() && (p.stage == holds || len(p.calls) > 0) {
		c.emit(Done{ID: e.ID, Outcome: HeldAlready, Last: g.last})
		return
	}
	if p.stage == releasing { // again, before the last release is known
		c.attempt++
		p.attempt, p.stage, p.counted, g.news = c.attempt, asking, false, true
	}
	p.calls, p.told = append(p.calls, e.ID), p.told || e.Again
	c.waiters[e.ID] = waiter{g, p}
	if e.Deadline > 0 && (p.due == 0 || e.Deadline < p.due) {
		p.due, p.warned = e.Deadline, false
		g.warnBy(p)
	}
}

func (c *Core) add(g *group, e Entry, attempt uint64) *participant {
	c.turns++
	c.parts++
	p := &participant{Entry: e, turn: c.turns, attempt: attempt, came: c.now}
	g.parts[e], g.order, g.news = p, append(g.order, p), true
	return p
}

// all returns the participants in the order in which they came.
func (g *group) all() []*participant {
	if len(g.order) > len(g.parts) {
		g.order = slices.DeleteFunc(g.order, func(p *participant) bool { return p.gone })
	}
	return g.order[:len(g.order):len(g.order)]
}

func (c *Core) quit(g *group, p *participant) {
	if !p.gone {
		c.parts--
	}
	p.gone = true
	delete(g.parts, p.Entry)
	c.freed(g, p)
}

// freed takes note that the primary knows that an earlier attempt of p does not count.
func (c *Core) freed(g *group, p *participant) {
	if p.left != 0 {
		p.left = 0
		c.emit(Freed{Key: g.key, Entry: p.Entry})
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
	c.stir(g)
	p.stage, p.left, g.news = releasing, p.attempt, true
	p.exits = append(p.exits, e.ID)
	c.waiters[e.ID] = waiter{g, p}
}

// giveUp ends a call that its caller does not wait for any more.
func (c *Core) giveUp(id uint64) {
	if q := c.queries[id]; q != nil {
		c.endQuery(id)
		c.giveUpOn(q.key, nil, GivenUp{ID: id, Primary: c.primary(q.key)})
		return
	}
	if c.giveUpJoin(id) {
		return
	}
	w, ok := c.waiters[id]
	if !ok {
		return
	}
	delete(c.waiters, id)
	g, p := w.g, w.p
	c.stir(g)
	given := GivenUp{ID: id, Primary: c.primary(g.key), Heard: g.answered && p != nil && slices.Contains(p.calls, id), Last: g.last}
	tell := true
	defer func() {
		if tell {
			c.giveUpOn(g.key, g.awaits, given)
		}
	}()
	if p == nil {
		g.watches = slices.DeleteFunc(g.watches, func(c uint64) bool { return c == id })
		return
	}
	gone := func(c uint64) bool { return c == id }
	if slices.Contains(p.leaving, id) {
		given.Frees = p.left
	}
	p.calls, p.exits, p.leaving = slices.DeleteFunc(p.calls, gone), slices.DeleteFunc(p.exits, gone), slices.DeleteFunc(p.leaving, gone)
	switch {
	case len(p.calls) > 0 || p.stage == releasing || p.stage == holds: // others wait; or it goes on
	case p.leave: // it has left nevertheless, once the primary has heard so
		given.Leaves = true
		if p.due = 0; p.stage == waits {
			c.quit(g, p)
		}
	case g.cfg.Semaphore.on():
		p.stage, p.left, g.news = releasing, p.attempt, true // it waits no more, and holds nothing that it does not know of
		given.Frees = p.attempt
	case !p.told:
		given.Withdrawn = true
		c.quit(g, p)
	default: // the caller hears the outcome when it is known
		p.stage, p.left, g.news, tell = releasing, p.attempt, true, false
		p.leaving = append(p.leaving, id)
		p.leaveBy, p.gave = c.now+withdrawWithin, c.heldUp(g.key, g.awaits, given)
		if g.leaveAt == 0 {
			g.leaveAt = p.leaveBy
		}
		c.waiters[id] = w
	}
}

// withdrawWithin is how long a withdrawing participant waits to hear whether the barrier had fired.
const withdrawWithin = time.Second

// leave ends the calls of participants that have waited for that long enough. They go on withdrawing.
func (c *Core) leave(g *group) {
	if g.leaveAt == 0 || c.now < g.leaveAt {
		return
	}
	g.leaveAt = 0
	for _, p := range g.all() {
		switch {
		case len(p.leaving) == 0:
		case c.now >= p.leaveBy:
			c.gaveUp(g, p, false)
		case g.leaveAt == 0 || p.leaveBy < g.leaveAt:
			g.leaveAt = p.leaveBy
		}
	}
}

// gaveUp ends the calls of a participant that withdraws, or has withdrawn. A primary has answered that it has
// withdrawn: the culprit is the one of the time at which the caller gave up.
func (c *Core) gaveUp(g *group, p *participant, withdrawn bool) {
	for _, id := range p.leaving {
		delete(c.waiters, id)
		given := p.gave
		if given.ID, given.Withdrawn = id, withdrawn; withdrawn {
			c.emit(given)
			continue
		}
		given.Frees, given.Primary = p.left, c.primary(g.key) // of which g.awaits is
		c.giveUpOn(g.key, g.awaits, given)
	}
	p.leaving = nil
}

// Waits reports whether a call has not ended.
func (c *Core) Waits(id uint64) bool {
	_, ok := c.waiters[id]
	return ok || c.queries[id] != nil || c.joiners[id] != nil
}
