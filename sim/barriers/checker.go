package barriers

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/barrier"
	"github.com/phalanx-go/phalanx/sim"
)

// checker checks the promises of barriers.
type checker struct {
	w *service

	units    map[barrier.Key]map[string]bool // units that have entered
	doubtful map[barrier.Key]map[string]bool // units that the managers may not know: their nodes died, or they gave up before an answer
	ghosts   map[barrier.Key]map[string]bool // units that may still count under an incarnation that is gone
	first    map[barrier.Key]time.Duration   // when the first unit entered
	out      map[barrier.Key]map[string]bool // units that heard that they have withdrawn, and have not entered again
	fired    map[barrier.Key]int
	verdicts map[barrier.Key]map[barrier.Entry]barrier.Verdict
	counted  map[barrier.Key]map[barrier.Entry]bool  // entries that a primary has published
	through  map[barrier.Key]map[barrier.Entry]bool  // counted entries with which a primary has fired
	holding  map[barrier.Key]map[barrier.Entry]*call // holders of a semaphore: they heard so, and have not left
	configs  map[barrier.Key]barrier.Config
	last     map[barrier.Key]barrier.Done            // of a semaphore of one: the answer to its last holder
	passed   map[barrier.Key]map[phalanx.NodeID]bool // nodes that heard that it has fired
	removed  map[barrier.Key]bool                    // somebody has asked to remove it
	inside   map[barrier.Key]map[barrier.Entry]*call // entries that have passed a double barrier, and have not begun to leave
}

func newChecker(w *service) *checker {
	return &checker{w: w, ghosts: map[barrier.Key]map[string]bool{}, counted: map[barrier.Key]map[barrier.Entry]bool{}, through: map[barrier.Key]map[barrier.Entry]bool{},
		units: map[barrier.Key]map[string]bool{}, doubtful: map[barrier.Key]map[string]bool{}, first: map[barrier.Key]time.Duration{}, out: map[barrier.Key]map[string]bool{}, fired: map[barrier.Key]int{},
		verdicts: map[barrier.Key]map[barrier.Entry]barrier.Verdict{}, holding: map[barrier.Key]map[barrier.Entry]*call{}, configs: map[barrier.Key]barrier.Config{}, last: map[barrier.Key]barrier.Done{},
		passed: map[barrier.Key]map[phalanx.NodeID]bool{}, removed: map[barrier.Key]bool{}, inside: map[barrier.Key]map[barrier.Entry]*call{}}
}

// known reports whether a member is left that heard of the firing of a barrier. If none is, the
// name counts as new.
func (c *checker) known(k barrier.Key) bool {
	for id := range c.passed[k] {
		if c.w.Member(id) {
			return true
		}
	}
	return false
}

// entered notes a call that enters.
func (c *checker) entered(a *call) {
	if c.units[a.key] == nil {
		c.units[a.key], c.doubtful[a.key], c.first[a.key] = map[string]bool{}, map[string]bool{}, c.w.Now()
		c.ghosts[a.key] = map[string]bool{}
		c.out[a.key] = map[string]bool{}
		c.counted[a.key], c.through[a.key] = map[barrier.Entry]bool{}, map[barrier.Entry]bool{}
		c.verdicts[a.key], c.holding[a.key] = map[barrier.Entry]barrier.Verdict{}, map[barrier.Entry]*call{}
	}
	c.units[a.key][a.entry.Unit()] = true
	delete(c.out[a.key], a.entry.Unit())
	c.configs[a.key] = a.cfg
}

// saw checks an output of a primary.
func (c *checker) saw(n *sim.Process, o barrier.Output) {
	switch o := o.(type) {
	case barrier.Publish:
		h, cfg := o.Happened, c.configs[o.Key]
		switch h.What {
		case barrier.Entered:
			if c.through[o.Key][h.Entry] && cfg.Semaphore.Count == 0 && !c.removed[o.Key] && !c.w.Cruel() {
				c.w.Failf("(2) %s counts again in %s, which has fired with it", h.Entry, o.Key)
			}
			c.counted[o.Key][h.Entry] = true
		case barrier.HasFired:
			c.w.Tracef("%s fires %s: %+v", n.Self, o.Key, h)
			if c.fired[o.Key]++; c.fired[o.Key] > 1 && !c.w.Cruel() && c.known(o.Key) && !c.removed[o.Key] {
				c.w.Failf("(1) %s fires twice", o.Key)
			}
			for e := range c.counted[o.Key] {
				if !c.out[o.Key][e.Unit()] && !c.w.work.givesUp(o.Key, e) {
					c.through[o.Key][e] = true
				}
			}
			if there, out := len(c.units[o.Key]), len(c.out[o.Key]); h.N > there-out && !c.removed[o.Key] && !c.w.AllLeave() {
				c.w.Failf("(1) %s fires with %d, and %d have entered, of whom %d have withdrawn", o.Key, h.N, there, out)
			}
			since := c.w.Now() - c.first[o.Key]
			switch {
			case h.Cause == barrier.ByMax && h.N < cfg.Max,
				h.Cause == barrier.ByPercent && (100*h.N < cfg.Percent*cfg.Max || since < cfg.MinWait),
				h.Cause == barrier.ByTimeout && (cfg.Timeout == 0 || since < cfg.Timeout),
				h.Cause == barrier.ByKnee && (cfg.Knee == barrier.Knee{} || 100*h.N < cfg.Knee.Percent*cfg.Max || since < cfg.Knee.Time), h.Cause == barrier.ByCallback && !cfg.Callback:
				c.w.Failf("(1) %s fires with %d of %d after %v: %s; %+v", o.Key, h.N, cfg.Max, since, h.Cause, cfg)
			}
		case barrier.HasEmptied:
			for e, a := range c.inside[o.Key] {
				if c.w.Member(a.as) && !c.removed[o.Key] && !c.w.Cruel() {
					c.w.Failf("(7) all have left %s, and %s is inside on %s", o.Key, e, a.n.Self)
				}
			}
		case barrier.HolderExpired, barrier.HolderGone:
			delete(c.holding[o.Key], h.Entry)
		}
	case barrier.Lost:
		c.w.hosts[n].held.Lost(o)
		delete(c.holding[o.Key], o.Entry)
	case barrier.TookOver:
		c.w.Tracef("%s takes over %+v", n.Self, o)
		if o.Standing.Cause != barrier.NotFired && c.fired[o.Key] == 0 {
			c.fired[o.Key] = 1
		}
	}
}

// ended checks the answer to a participant.
func (c *checker) ended(a *call, d barrier.Done) {
	c.w.Tracef("%s: %s of %s: %s", a.n.Self, a.entry, a.key, d.Verdict)
	a.as = a.n.Self
	if d.Verdict == barrier.Deleted {
		if !c.removed[a.key] {
			c.w.Failf("(8) %s of %s is told that it was removed", a.entry, a.key)
		}
		return
	}
	if a.cfg.Semaphore.Count > 0 {
		switch {
		case d.Verdict == barrier.Fire:
			c.holding[a.key][a.entry] = a
			if old := c.last[a.key]; mostHolders(a.cfg) == 1 && (d.Term < old.Term || d.Term == old.Term && d.Batch <= old.Batch) {
				c.w.Failf("(6) %s holds %s by term %d, batch %d; the holder before it by term %d, batch %d", a.entry, a.key, d.Term, d.Batch, old.Term, old.Batch)
			}
			c.last[a.key] = d
		case c.w.Member(a.n.Self):
			c.w.Failf("(4) %s enters %s and is answered %s", a.entry, a.key, d.Verdict)
		}
		return
	}
	if a.cfg.Double && (d.Verdict == barrier.Fire || d.Verdict == barrier.LateFire) {
		if c.inside[a.key] == nil {
			c.inside[a.key] = map[barrier.Entry]*call{}
		}
		c.inside[a.key][a.entry] = a
	}
	old, ok := c.verdicts[a.key][a.entry]
	if c.removed[a.key] {
		ok = false
	}
	if ok && old != d.Verdict {
		c.w.Failf("(2) %s of %s is answered %s after %s", a.entry, a.key, d.Verdict, old)
	}
	c.verdicts[a.key][a.entry] = d.Verdict
	if d.Verdict == barrier.Doubtful {
		if !c.w.Cruel() && !c.removed[a.key] { // an entry from before a Remove may ask again when that is forgotten
			c.w.Failf("(4) %s of %s is told that nobody knows whether it has fired", a.entry, a.key)
		}
		return
	}
	if c.fired[a.key] == 0 && !c.removed[a.key] { // a primary that was restarted may not have published the firing before the removal
		c.w.Failf("(1) %s of %s is answered %s, and it has not fired", a.entry, a.key, d.Verdict)
	}
	a.late = d.Verdict != barrier.Fire
	if a.late { // a late participant does not show that its node knows the firing
		return
	}
	if c.passed[a.key] == nil {
		c.passed[a.key] = map[phalanx.NodeID]bool{}
	}
	c.passed[a.key][a.n.Self] = true
}

// leaves notes that an entry begins to leave a double barrier.
func (c *checker) leaves(a *call) { delete(c.inside[a.key], a.entry) }

// departed checks the answer to an entry that has left a double barrier.
func (c *checker) departed(a *call, d barrier.Done) {
	c.w.Tracef("%s: %s leaves %s: %s", a.n.Self, a.entry, a.key, d.Verdict)
	if c.removed[a.key] || c.w.Cruel() {
		return
	}
	if d.Verdict != barrier.Departed && !(d.Verdict == barrier.Doubtful && (a.late && !c.known(a.key) || a.as != a.n.Self)) {
		c.w.Failf("(7) %s leaves %s, and is answered %s", a.entry, a.key, d.Verdict)
	}
}

// withdrawn notes that an entry no longer counts.
func (c *checker) withdrawn(a *call) {
	for _, o := range c.w.work.open {
		if o.key == a.key && o.entry.Host != "" && !o.joins && !o.leaves && o.entry.Unit() == a.entry.Unit() {
			return // another entry of the unit waits
		}
	}
	if _, passed := c.verdicts[a.key][a.entry]; !passed && !c.ghosts[a.key][a.entry.Unit()] {
		c.out[a.key][a.entry.Unit()] = true
	}
}

// left notes that a holder leaves.
func (c *checker) left(a *call) { delete(c.holding[a.key], a.entry) }

// nodeGone drops the holders on a node that has died or was removed.
func (c *checker) nodeGone(n *sim.Process) {
	for _, a := range c.w.work.open { // they may enter again from the process's next incarnation
		if a.n == n && c.ghosts[a.key] != nil {
			c.ghosts[a.key][a.entry.Unit()] = true
			delete(c.counted[a.key], a.entry)
			delete(c.through[a.key], a.entry)
		}
	}
	for _, all := range c.inside {
		for e, a := range all {
			if a.n == n {
				delete(all, e)
			}
		}
	}
	for _, all := range c.holding {
		for e, a := range all {
			if a.n == n {
				delete(all, e)
			}
		}
	}
}

// mostHolders is how many may hold a semaphore at once.
func mostHolders(cfg barrier.Config) int { return max(cfg.Semaphore.Count, cfg.Semaphore.Cap) }

// holders checks that no semaphore has more holders than it may.
func (c *checker) holders() {
	for k, all := range c.holding {
		if limit := mostHolders(c.configs[k]); limit > 0 && len(all) > limit {
			c.w.Failf("(3) %d hold %s, and %d may", len(all), k, limit)
		}
	}
}

// waiting returns how many units wait on live nodes.
func (c *checker) waiting(k barrier.Key) int {
	units := map[string]bool{}
	for _, a := range c.w.work.open {
		if a.key == k && a.entry.Host != "" && !a.leaves && c.w.Well(a.n) {
			units[a.entry.Unit()] = true
		}
	}
	return len(units)
}

// Missing names a call that still waits after the faults though it need not, or returns "".
func (s *service) Missing() string {
	c := s.check
	if s.work.soon > 0 { // also in a cruel run: GiveUp ends no call that a participant makes after it
		return fmt.Sprintf("%d things are about to be done", s.work.soon)
	}
	if s.Cruel() {
		return ""
	}
	for _, id := range slices.Sorted(maps.Keys(s.work.open)) {
		a := s.work.open[id]
		if a.n.Dead || !s.Well(a.n) {
			continue
		}
		if a.joins {
			if why := c.joiner(a); why != "" {
				return why
			}
			continue
		}
		units, cfg := 0, a.cfg
		for u := range c.units[a.key] {
			if !c.doubtful[a.key][u] && !c.out[a.key][u] && !c.ghosts[a.key][u] {
				units++
			}
		}
		if a.leaves {
			if len(c.inside[a.key]) == 0 && !c.removed[a.key] {
				return fmt.Sprintf("(7) %s leaves %s on %s since %v, and nobody is inside", a.entry, a.key, a.n.Self, a.since)
			}
			continue
		}
		if c.fired[a.key] > 0 && !c.known(a.key) || c.removed[a.key] {
			units = c.waiting(a.key)
		}
		enough := cfg.Semaphore.Count > 0 || units >= cfg.Max || cfg.Timeout > 0 || cfg.Percent > 0 && 100*units >= cfg.Percent*cfg.Max || c.known(a.key) && !c.removed[a.key]
		if a.entry.Host == "" || enough {
			return fmt.Sprintf("(4) call %d of %s on %s waits since %v, %d of %d have entered: %+v", a.id, a.key, a.n.Self, a.since, units, cfg.Max, a)
		}
	}
	return ""
}

// GiveUp ends the calls that wait for others, and the callbacks. The managers keep looking for
// callbacks or entries whose node has died.
func (s *service) GiveUp() bool {
	s.work.ends = true
	silent := true
	for _, c := range s.work.watchers {
		silent = silent && !c.n.Dead
		s.To(c.n, func() { s.ask(c.n, barrier.Call{Kind: barrier.CallUnwatch, Key: c.key, Config: c.cfg}) })
	}
	for _, id := range slices.Sorted(maps.Keys(s.work.open)) {
		if c := s.work.open[id]; c != nil && !c.gave {
			s.To(c.n, func() { s.work.giveUp(c.n, id) })
		}
	}
	return silent
}
