package barriers

import (
	"fmt"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/barrier"
	"github.com/phalanx-go/phalanx/sim"
)

// call is a call of an application.
type call struct {
	id     uint64
	asked  barrier.Call // the call as the core got it
	n      *sim.Process
	as     phalanx.NodeID // incarnation of the process when it got the answer
	key    barrier.Key
	cfg    barrier.Config
	entry  barrier.Entry
	since  time.Duration
	rounds int  // rounds of a semaphore that are left
	lost   bool // the workload has released its semaphore
	plain  bool // it holds a semaphore without a Hold: its node does not release it
	gave   bool // its caller has given it up
	late   bool // the barrier had fired without it
	leaves bool // it leaves a double barrier
	joins  bool // it waits for the Config that others give, and has not entered
}

// workload makes the applications' calls.
type workload struct {
	w        *service
	ids      uint64
	open     map[uint64]*call
	soon     int                  // actions that are planned
	watched  map[barrier.Key]bool // barriers that have callbacks on some node
	watchers []*call              // calls that give these callbacks
	ends     bool                 // no more entries come
}

// after calls f after d.
func (l *workload) after(d time.Duration, f func()) {
	l.soon++
	l.w.After(d, func() {
		l.soon--
		f()
	})
}

// Plan has all participants of some barriers enter, at times of their own.
func (s *service) Plan(over time.Duration, add func(time.Duration, func() string)) {
	if s.Cruel() {
		add(s.Upto(over), s.massacre)
	}
	for i := range 1 + s.R.IntN(4) {
		key := barrier.Key{Name: fmt.Sprint("b", i), Generation: uint64(s.R.IntN(2))}
		s.work.plan(key, s.work.config(), over, func(at time.Duration, what string, do func(*sim.Process)) {
			add(at, func() string {
				live := s.Live()
				if len(live) == 0 {
					return "nobody is there"
				}
				p := live[s.R.IntN(len(live))]
				do(p)
				return fmt.Sprintf("%s %s on %s", what, key, p.Self)
			})
		})
	}
}

func (l *workload) plan(key barrier.Key, cfg barrier.Config, over time.Duration, add func(time.Duration, string, func(*sim.Process))) {
	r := l.w.R
	n := cfg.Max
	if cfg.Semaphore.Count > 0 {
		n = 2 + r.IntN(6)
	} else if r.IntN(4) == 0 {
		n++ // one participant is late
	}
	after := -1 // this participant comes long after the end
	if r.IntN(3) == 0 {
		after = n
		n++
	}
	if r.IntN(6) == 0 {
		add(l.w.Upto(over), "remove", func(p *sim.Process) { l.remove(p, key) })
	}
	if cfg.Callback || cfg.Semaphore.Callback {
		l.watched[key] = true
		add(0, "watch", func(p *sim.Process) {
			c := &call{n: p, key: key, cfg: cfg}
			l.watchers = append(l.watchers, c)
			l.start(c, barrier.CallWatch)
		})
	}
	for k := range n {
		c := &call{key: key, cfg: cfg, entry: barrier.Entry{Host: fmt.Sprint("h", k)}, rounds: 1 + r.IntN(3), plain: k%2 == 1}
		if r.IntN(2) == 0 {
			c.entry.Label = fmt.Sprint("task", k)
		}
		joins := r.IntN(3) == 0
		at := l.w.Upto(over)
		if k == after {
			at = over + keep + l.w.Upto(3*keep)
		}
		add(at, "enter", func(p *sim.Process) {
			if c.n = p; joins {
				l.join(c)
				return
			}
			l.start(c, barrier.CallEnter)
		})
	}
}

func (l *workload) config() barrier.Config {
	r := l.w.R
	c := barrier.Config{Max: 1 + r.IntN(8)}
	kind := r.IntN(8)
	if l.w.Cruel() && r.IntN(2) == 0 {
		kind = 6
	}
	switch kind {
	case 0, 1:
	case 2:
		c.Timeout = time.Duration(100+r.IntN(2000)) * ms
	case 3:
		c.Percent, c.MinWait = 1+r.IntN(100), time.Duration(r.IntN(500))*ms
	case 4:
		c.Throttle = barrier.Throttle{Count: 1 + r.IntN(3), Period: time.Duration(10+r.IntN(100)) * ms}
	case 5:
		c.Callback, c.CallbackTimeout = true, time.Duration(100+r.IntN(400))*ms
	case 7:
		c.Knee = barrier.Knee{Percent: 1 + r.IntN(100), Time: time.Duration(r.IntN(300)) * ms}
	case 6:
		c = barrier.Config{Semaphore: barrier.Semaphore{Count: 1 + r.IntN(3)}}
		if r.IntN(2) == 0 {
			c.Semaphore.Timeout = time.Duration(100+r.IntN(2000)) * ms
		}
		switch r.IntN(4) {
		case 0:
			c.Semaphore.Callback, c.Semaphore.Cap = true, c.Semaphore.Count+r.IntN(3)
		case 1:
			c.Semaphore.Adaptive, c.Semaphore.Cap = true, c.Semaphore.Count+1+r.IntN(3)
		}
	}
	if r.IntN(2) == 0 && c.Semaphore.Count == 0 {
		c.Late = barrier.CatchUp
	}
	c.Double = c.Semaphore.Count == 0 && r.IntN(3) == 0
	return c
}

func (l *workload) start(c *call, kind barrier.CallKind) {
	l.ids++
	c.id, c.since, c.gave = l.ids, l.w.Now(), false
	l.open[c.id] = c
	if kind == barrier.CallEnter {
		l.w.check.entered(c)
	}
	c.asked = barrier.Call{ID: c.id, Kind: kind, Key: c.key, Config: c.cfg, Entry: c.entry}
	l.w.ask(c.n, c.asked)
	if id := c.id; kind == barrier.CallEnter && l.w.R.IntN(6) == 0 { // the caller does not wait for ever
		l.after(time.Duration(l.w.R.IntN(1000))*ms, func() {
			if l.open[id] == c && !c.n.Dead {
				l.w.To(c.n, func() { l.giveUp(c.n, id) })
			}
		})
	}
}

func (l *workload) done(n *sim.Process, d barrier.Done) {
	if d.ID == 0 { // nobody waits for it
		return
	}
	c := l.open[d.ID]
	if c == nil || c.n != n {
		l.w.Failf("call %d on %s ends twice: %+v", d.ID, n.Self, d)
		return
	}
	delete(l.open, d.ID)
	if c.joins {
		l.joined(c, d)
		return
	}
	if c.entry.Host == "" { // the end of a callback's call
		return
	}
	if c.leaves {
		l.w.check.departed(c, d)
		return
	}
	l.w.hosts[n].held.Done(c.asked, d, c)
	l.w.check.ended(c, d)
	if c.cfg.Double && (d.Verdict == barrier.Fire || d.Verdict == barrier.LateFire) {
		l.after(l.w.Upto(400*ms), func() {
			l.w.To(c.n, func() { l.depart(c) })
		})
		return
	}
	if c.cfg.Semaphore.Count == 0 && d.Verdict == barrier.Fire {
		l.nextRound(c)
	}
	if c.cfg.Semaphore.Count == 0 || d.Verdict != barrier.Fire {
		return
	}
	holds := time.Duration(l.w.R.IntN(300)) * ms
	if c.plain { // longer, so that its node goes meanwhile in some runs
		holds *= 5
	}
	l.after(holds, func() {
		l.w.To(c.n, func() { l.leave(c) })
	})
}

// rounds is how many generations of a barrier its participants go through, as those of a loop do.
const rounds = 4

// nextRound has a participant enter the next generation, at barriers whose name says so.
func (l *workload) nextRound(c *call) {
	if int(c.key.Generation) >= rounds || c.key.Name == "b1" || l.ends {
		return
	}
	next := *c
	next.key.Generation++
	l.after(l.w.Upto(200*ms), func() {
		if l.w.Well(next.n) {
			l.w.Met("next generation of a barrier")
			l.start(&next, barrier.CallEnter)
		}
	})
}

// depart leaves a double barrier.
func (l *workload) depart(c *call) {
	if c.n.Dead {
		return
	}
	l.w.check.leaves(c)
	l.ids++
	id := l.ids
	ask := barrier.Call{ID: id, Kind: barrier.CallLeave, Key: c.key, Config: c.cfg, Entry: c.entry}
	l.open[id] = &call{id: id, asked: ask, n: c.n, key: c.key, cfg: c.cfg, entry: c.entry, since: l.w.Now(), leaves: true, late: c.late, as: c.as}
	l.w.ask(c.n, ask)
	if l.w.R.IntN(8) == 0 {
		l.after(l.w.Upto(500*ms), func() {
			if l.open[id] != nil && !c.n.Dead {
				l.w.To(c.n, func() { l.giveUp(c.n, id) })
			}
		})
	}
}

// reply is the application's answer to a callback. It vetoes some of what the barrier suggests, and
// suggests more.
func (l *workload) reply(o barrier.Callback) barrier.Replied {
	r := barrier.Replied{Key: o.Key, Ask: o.Asked.Ask, Yes: o.Asked.WouldRelease, N: o.Asked.Suggest}
	if l.w.R.IntN(3) == 0 {
		r.Yes, r.N = !r.Yes, l.w.R.IntN(4)
		l.w.Met("callback does not do as suggested")
	}
	return r
}

// remove asks to remove a barrier.
func (l *workload) remove(n *sim.Process, k barrier.Key) {
	l.w.check.removed[k] = true
	l.ids++
	c := &call{id: l.ids, n: n, key: k, since: l.w.Now(), asked: barrier.Call{ID: l.ids, Kind: barrier.CallRemove, Key: k}}
	l.open[c.id] = c
	l.w.ask(c.n, c.asked)
}

// leave releases a semaphore, and may enter it again.
func (l *workload) leave(c *call) {
	if c.n.Dead || c.lost {
		return
	}
	l.w.check.left(c)
	l.ids++
	ask := barrier.Call{ID: l.ids, Kind: barrier.CallRelease, Key: c.key, Config: c.cfg, Entry: c.entry}
	l.w.hosts[c.n].held.Asked(ask)
	l.open[l.ids] = &call{id: l.ids, asked: ask, n: c.n, key: c.key, cfg: c.cfg, since: l.w.Now()}
	l.w.ask(c.n, ask)
	if c.rounds--; c.rounds > 0 {
		next := *c
		l.after(time.Duration(l.w.R.IntN(50))*ms, func() {
			if l.w.Well(next.n) {
				l.start(&next, barrier.CallEnter)
			}
		})
	}
}

func (l *workload) givenUp(n *sim.Process, g barrier.GivenUp) {
	c := l.open[g.ID]
	if c == nil || c.n != n {
		l.w.Failf("call %d on %s is given up, and has ended", g.ID, n.Self)
		return
	}
	if g.Primary != "" && slices.Contains(g.Awaits, g.Primary) {
		l.w.Failf("(9) call %d on %s is given up, and its primary %s waits for %v", g.ID, n.Self, g.Primary, g.Awaits)
	}
	if len(g.Awaits) > 0 {
		l.w.Met("barrier awaits a node")
	}
	delete(l.open, g.ID)
	l.w.hosts[n].held.GivenUp(c.asked, g)
	switch {
	case g.Unopened != c.joins:
		l.w.Failf("call %d on %s, which joins: %v, is given up so: %+v", g.ID, n.Self, c.joins, g)
	case c.joins:
		l.joinAgain(c)
	case c.entry.Host == "" || c.leaves:
	case g.Withdrawn:
		l.w.check.withdrawn(c)
		if l.w.R.IntN(2) == 0 && !l.ends {
			next := *c
			l.after(time.Duration(l.w.R.IntN(300))*ms, func() {
				if l.w.Well(next.n) {
					l.start(&next, barrier.CallEnter)
				}
			})
		}
	case !g.Heard || c.cfg.Semaphore.Count == 0: // the node may die before the managers hear of the entry, or withdraw it later
		l.w.check.doubtful[c.key][c.entry.Unit()] = true
	}
}

// nodeGone ends the calls of a node that has died.
func (l *workload) nodeGone(n *sim.Process) {
	for id, c := range l.open {
		if c.n == n {
			delete(l.open, id)
			if c.entry.Host != "" && !c.joins && !c.leaves {
				l.w.check.doubtful[c.key][c.entry.Unit()] = true
			}
		}
	}
}
