package barriers

import (
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx/protocol/barrier"
)

// join has a participant enter with the Config that others give.
func (l *workload) join(c *call) {
	l.ids++
	c.id, c.since, c.joins, c.gave = l.ids, l.w.Now(), true, false
	l.open[c.id] = c
	c.asked = barrier.Call{ID: c.id, Kind: barrier.CallConfig, Key: c.key}
	l.w.ask(c.n, c.asked)
	if id := c.id; l.w.R.IntN(6) == 0 { // the participant does not wait for ever
		l.after(time.Duration(l.w.R.IntN(1000))*ms, func() {
			if l.open[id] == c && !c.n.Dead {
				l.w.To(c.n, func() { l.giveUp(c.n, id) })
			}
		})
	}
}

// joined lets the participant enter.
func (l *workload) joined(c *call, d barrier.Done) {
	if d.Outcome == barrier.Forgotten { // the participant is late
		if late := c.cfg.Late == barrier.CatchUp; l.w.check.fired[c.key] == 0 || late != (d.Verdict == barrier.Behind) {
			l.w.Failf("(7) %s joins %s, and is told that it is %s", c.n.Self, c.key, d.Verdict)
		}
		return
	}
	if _, same := d.Config.Equal(c.cfg); !same || len(l.w.check.units[c.key]) == 0 && !l.watched[c.key] {
		l.w.Failf("(7) %s joins %s with %+v; %d have opened it with %+v", c.n.Self, c.key, d.Config, len(l.w.check.units[c.key]), c.cfg)
		return
	}
	c.cfg, c.joins = d.Config, false
	l.after(0, func() { // after all outputs of the core's step
		l.w.To(c.n, func() { l.start(c, barrier.CallEnter) })
	})
}

// joinAgain lets a participant that gave up try again, or not.
func (l *workload) joinAgain(c *call) {
	if l.ends || l.w.R.IntN(2) > 0 {
		return
	}
	next := *c
	l.after(time.Duration(l.w.R.IntN(300))*ms, func() {
		if l.w.Well(next.n) {
			l.join(&next)
		}
	})
}

// joiner checks after all faults that a participant does not wait for the Config of a barrier that
// others have entered, or have callbacks of.
func (c *checker) joiner(a *call) string {
	anew := c.removed[a.key] || a.cfg.Semaphore.Count > 0 || c.fired[a.key] > 0 && !c.known(a.key)
	opened := c.fired[a.key] > 0 && !anew
	for u := range c.units[a.key] {
		opened = opened || !c.doubtful[a.key][u] && !c.out[a.key][u] && !c.ghosts[a.key][u] && !anew
	}
	for _, o := range c.w.work.open {
		opened = opened || o.key == a.key && !o.joins && !o.leaves && o.entry.Host != "" && c.w.Well(o.n)
	}
	if !opened {
		return ""
	}
	return fmt.Sprintf("(7) call %d of %s on %s waits since %v for a Config that was given", a.id, a.key, a.n.Self, a.since)
}
