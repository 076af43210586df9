package reduce

import (
	"cmp"
	"slices"

	"github.com/phalanx-go/phalanx"
)

// stop is an order to stop a place that got a command and is not wanted any more.
type stop struct {
	retry
	effect Stop
	order  uint64
	over   bool // it was acknowledged, or is not needed
}

type stopKey struct {
	place int
	node  phalanx.NodeID
}

// stops finds each stop by the place that it stops, and sends them in the order in which
// they were made.
type stops struct {
	made    uint64
	of      map[stopKey]*stop
	inOrder []*stop   // some may be over
	fresh   []*stop   // not sent yet; some may be over
	again   []stopKey // places that were started since the fresh ones were sent last
}

func (s *stops) remove(st *stop) {
	st.over = true
	delete(s.of, stopKey{st.effect.Place, st.effect.Node})
	if len(s.inOrder) > 2*len(s.of)+16 {
		s.inOrder = slices.DeleteFunc(s.inOrder, func(st *stop) bool { return st.over })
	}
}

// unwanted makes a stop for p at p.node, if it got a command there.
func (c *Coordinator) unwanted(p *place, final bool) {
	if p.told {
		c.stopAt(p.pos, p.node, p.gen, final)
	}
}

func (c *Coordinator) stopAt(pos int, n phalanx.NodeID, g PlaceGen, final bool) {
	if c.gone[n] {
		return
	}
	e := Stop{Node: n, Target: c.cfg.Target, Reduce: c.reduce, Attempt: c.cfg.Attempt, Place: pos, Gen: g, Final: final}
	if final {
		e.TargetGen = c.gen
	}
	all, key := &c.stops, stopKey{pos, n}
	s := all.of[key]
	switch {
	case s == nil:
		if all.of == nil {
			all.of = map[stopKey]*stop{}
		}
		all.made++
		s = &stop{order: all.made}
		all.of[key] = s
		all.inOrder = append(all.inOrder, s)
	case s.effect.Gen.Compare(g) >= 0 && s.effect.Final == final:
		return
	}
	s.effect, s.pending = e, false
	all.fresh = append(all.fresh, s)
}

// sendStops sends the Stops that were not sent yet. If the same place runs again on the
// same node, no Stop is needed: its new command replaces the old one.
func (c *Coordinator) sendStops() {
	all := &c.stops
	if c.phase != ended {
		for _, key := range all.again {
			if s := all.of[key]; s != nil && c.runsAgain(s) {
				all.remove(s)
			}
		}
		for _, s := range all.fresh {
			if !s.over && c.runsAgain(s) {
				all.remove(s)
			}
		}
	}
	slices.SortFunc(all.fresh, func(a, b *stop) int { return cmp.Compare(a.order, b.order) })
	for _, s := range all.fresh {
		if !s.over && !s.pending {
			s.retry = retry{pending: true, sent: c.now}
			c.emit(s.effect)
		}
	}
	all.again, all.fresh = all.again[:0], nil
}

func (c *Coordinator) runsAgain(s *stop) bool {
	p := c.places[s.effect.Place]
	return p.life == live && p.node == s.effect.Node
}

// noStopsAt removes the stops of a node that is gone.
func (c *Coordinator) noStopsAt(n phalanx.NodeID) {
	for _, s := range slices.Clone(c.stops.inOrder) {
		if !s.over && s.effect.Node == n {
			c.stops.remove(s)
		}
	}
}

func (c *Coordinator) stopped(ev Stopped) {
	if s := c.stops.of[stopKey{ev.Place, ev.Node}]; s != nil && s.pending && s.effect.Gen.Compare(ev.Gen) <= 0 {
		c.stops.remove(s)
	}
}

func (c *Coordinator) repeatStops() {
	for _, s := range c.stops.inOrder {
		if !s.over && s.due(c.now, c.cfg.RepeatEvery) {
			c.emit(s.effect)
		}
	}
}
