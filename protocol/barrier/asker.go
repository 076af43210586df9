package barrier

import (
	"maps"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/agenda"
)

// awaited are the nodes that a primary tells when a participant gives a Config.
//
// Nothing depends on it: nodes repeat a question that is forgotten.
type awaited struct {
	askers    map[Key]map[phalanx.NodeID]time.Duration // the Stamp of each one's question
	askersDue agenda.Agenda[asker]                     // when they are forgotten
}

type asker struct {
	key  Key
	node phalanx.NodeID
}

// Bounds of what a primary remembers of nodes that wait for a Config.
const (
	maxAskers = 1 << 16     // nodes, once for each barrier; others are answered when they ask again
	askersFor = time.Minute // since they asked last
)

func newAwaited() awaited { return awaited{askers: map[Key]map[phalanx.NodeID]time.Duration{}} }

// whoOpened answers with the Config that a barrier goes by. If there is none the node is told
// when there is.
func (c *Core) whoOpened(from phalanx.NodeID, m WhoOpened) {
	if !c.ready(m.Key) {
		if len(c.early.all) < earlyLimit/2 { // the other half is for entries
			c.keep(from, m.Key, m, m.Key.weight())
		}
		return
	}
	cfg := c.configOf(m.Key)
	if f, ok := c.past.find(m.Key.digest()); ok && cfg.None() && c.past.knows(m.Key.digest()) {
		c.send(from, Opened{Key: m.Key, Term: c.terms.Term, Stamp: m.Stamp, Fired: true, Late: f.late()})
		return
	}
	if who := (asker{m.Key, from}); cfg.None() {
		if _, known := c.askers[m.Key][from]; known || c.askersDue.Len() < maxAskers {
			if c.askers[m.Key] == nil {
				c.askers[m.Key] = map[phalanx.NodeID]time.Duration{}
			}
			c.askers[m.Key][from] = m.Stamp
			c.askersDue.Set(who, c.now+askersFor)
		}
	} else {
		c.forgetAsker(who)
	}
	c.send(from, Opened{Key: m.Key, Term: c.terms.Term, Stamp: m.Stamp, Config: cfg})
}

// configOf returns the Config that a barrier goes by, or none. A barrier that all have
// withdrawn from goes by none: the next one may give another.
func (c *Core) configOf(k Key) Config {
	r := c.replicas[k]
	if r == nil || r.b.deserted() && (r.b.Cause != NotFired || !r.b.Begun) && r.b.Watcher == "" && !r.begins() {
		return Config{}
	}
	return r.b.cfg
}

// tellAskers sends a barrier's Config, which a participant has given, to nodes that wait for it.
func (c *Core) tellAskers(k Key, cfg Config) {
	stamps := c.askers[k]
	for _, n := range slices.Sorted(maps.Keys(stamps)) {
		c.send(n, Opened{Key: k, Term: c.terms.Term, Stamp: stamps[n], Config: cfg})
		c.forgetAsker(asker{k, n})
	}
}

// forgetAskers forgets nodes that have not asked for long: they have given up.
func (c *Core) forgetAskers() {
	for who, ok := c.askersDue.Take(c.now); ok; who, ok = c.askersDue.Take(c.now) {
		c.forgetAsker(who)
	}
}

func (c *Core) forgetAsker(who asker) {
	c.askersDue.Cancel(who)
	if delete(c.askers[who.key], who.node); len(c.askers[who.key]) == 0 {
		delete(c.askers, who.key)
	}
}

// opens reports whether a node does more than to take back its requests.
func (m *Reached) opens() bool {
	return m.Watch || slices.ContainsFunc(m.Requests, func(q Request) bool { return !q.Release })
}
