package reduce

import (
	"slices"

	"github.com/phalanx-go/phalanx"
)

// resumption is the knowledge of a restarted coordinator before it goes on.
type resumption struct {
	waiting []*inspection    // nodes that have not answered
	late    []phalanx.NodeID // suspected: not waited for, but asked again
	found   []found
	lost    []PlaceLost // while the nodes were asked
	missing []SourceMissing
}

// died reports whether a place is known to run no more.
func (r *resumption) died(s State) bool {
	return slices.ContainsFunc(r.lost, func(l PlaceLost) bool { return l.Place == s.Place && s.Gen.Compare(l.Gen) <= 0 })
}

type inspection struct {
	retry
	node phalanx.NodeID
	from int // the place from which on it has not told yet
}

type found struct {
	node phalanx.NodeID
	held Held
}

// resume asks every node that had commands for its places.
func (c *Coordinator) resume(ev Resume) {
	if c.phase != idle || ev.Degree == 0 { // no node had a command
		c.start(Start{Now: ev.Now})
		return
	}
	c.now = max(c.now, ev.Now)
	if err := c.cfg.validate(); err != nil {
		c.fail(err, false)
		return
	}
	c.phase = inspecting
	c.reduce = ev.Reduce
	c.fixed, c.meta, c.first = true, ev.Meta, c.cfg.Target
	c.plant(ev.Degree)
	c.remember(ev.Nodes...)
	c.begin()
	c.watchSources()
	for _, n := range c.nodes {
		w := &inspection{retry: retry{true, c.now}, node: n}
		c.resumed.waiting = append(c.resumed.waiting, w)
		c.emit(c.inspectEffect(w))
	}
}

func (c *Coordinator) inspectEffect(w *inspection) Inspect {
	return Inspect{Node: w.node, Target: c.cfg.Target, Reduce: c.reduce, Attempt: c.cfg.Attempt, From: w.from}
}

func (c *Coordinator) repeatInspect() {
	for _, w := range c.resumed.waiting {
		if w.due(c.now, c.cfg.RepeatEvery) {
			c.emit(c.inspectEffect(w))
		}
	}
}

// inspected collects the nodes' places. A node that was left out because it was
// suspected may answer late: all its places are stopped.
func (c *Coordinator) inspected(ev Inspected) {
	if ev.Attempt != c.cfg.Attempt {
		return
	}
	i := slices.IndexFunc(c.resumed.waiting, func(w *inspection) bool { return w.node == ev.Node })
	switch {
	case i >= 0 && c.resumed.waiting[i].from != ev.From, i < 0 && c.phase == inspecting:
		return // a repeat
	case i >= 0 && ev.Next > ev.From: // there is more
		w := c.resumed.waiting[i]
		w.from, w.sent = ev.Next, c.now
		c.emit(c.inspectEffect(w))
	default:
		c.notWaiting(ev.Node)
	}
	for _, h := range ev.Places {
		if h.State.Reduce != c.reduce || c.at(h.State.Place) == nil {
			continue
		}
		if c.phase == inspecting || c.phase == ended && c.ask.pending { // the places are not known yet
			c.resumed.found = append(c.resumed.found, found{ev.Node, h})
		} else if p := c.places[h.State.Place]; p.life != live || p.node != ev.Node || c.phase == ended {
			c.stopAt(p.pos, ev.Node, h.State.Gen, c.completed())
		}
	}
	if c.phase == ended && len(c.places) > 0 && !c.ask.pending {
		c.sendStops()
	}
	c.tryRebuild()
}

func (c *Coordinator) notWaiting(n phalanx.NodeID) {
	c.resumed.waiting = slices.DeleteFunc(c.resumed.waiting, func(w *inspection) bool { return w.node == n })
}

// leftOut goes on without a node. If it is only suspected it is asked again
// while the Reduce runs.
func (c *Coordinator) leftOut(ev NodeGone) {
	if ev.Down {
		c.notWaiting(ev.Node)
		c.resumed.found = slices.DeleteFunc(c.resumed.found, func(f found) bool { return f.node == ev.Node })
	} else if c.phase == inspecting {
		for _, w := range c.resumed.waiting {
			if w.node == ev.Node {
				c.resumed.late = append(c.resumed.late, w.node)
			}
		}
		c.notWaiting(ev.Node)
	}
	c.tryRebuild()
}

func (c *Coordinator) tryRebuild() {
	if c.phase != inspecting || c.ask.pending || len(c.resumed.waiting) > 0 {
		return
	}
	c.phase = running
	c.rebuild()
	c.askLate()
}

// askLate goes on asking nodes for which the Reduce no longer waits.
func (c *Coordinator) askLate() {
	for _, n := range c.resumed.late {
		if !c.gone[n] {
			c.resumed.waiting = append(c.resumed.waiting, &inspection{retry: retry{true, c.now}, node: n})
		}
	}
	c.resumed.late = nil
}

// rebuild keeps the places that parents name and, where no parent names one, the
// latest; it releases duplicates and orphans, and leaves the rest to repair.
func (c *Coordinator) rebuild() {
	c.shown = true // a reader may have seen the present generation
	keptBy := make([]*Held, len(c.places))
	at := make([][]*found, len(c.places))
	for i := range c.resumed.found {
		f := &c.resumed.found[i]
		at[f.held.State.Place] = append(at[f.held.State.Place], f)
	}
	for _, p := range c.places { // parents first
		c.rebuildPlace(p, at[p.pos], keptBy)
	}
	for _, f := range c.resumed.found {
		if p := c.places[f.held.State.Place]; p.life != live || p.node != f.node {
			c.stopAt(p.pos, f.node, f.held.State.Gen, false)
		}
	}
	// An empty place that its parent names, or that lies below a dead one, had an
	// unknown source: an output above that may hold it is of no use.
	for _, p := range c.places {
		up := c.parent(p)
		if p.life == vacant && up != nil && (up.life == dead || up.life == live && !named(keptBy[up.pos], p.pos).Gen.IsZero()) {
			c.disown(p)
		}
	}
	if keptBy[0] == nil || keptBy[0].State.TargetGen != c.gen {
		c.stale = true
	}
	for _, p := range c.places {
		if p.life != vacant && !p.final && p.sourceGen.Less(p.source.gen) {
			c.empty(p, LostReset, "")
		}
	}
	for _, ev := range c.resumed.missing {
		c.sourceMissing(ev)
	}
	c.resumed.found, c.resumed.lost, c.resumed.missing = nil, nil, nil
}

// named returns a place's report on its child at pos.
func named(h *Held, pos int) Child {
	if h != nil {
		for _, k := range h.State.Children {
			if k.Place == pos {
				return k
			}
		}
	}
	return Child{}
}

func (c *Coordinator) rebuildPlace(p *place, at []*found, keptBy []*Held) {
	var above *Held // nil if the parent is dead or empty: then the places say whose they are
	if up := c.parent(p); up != nil {
		above = keptBy[up.pos]
	}
	name := named(above, p.pos)
	var best *found
	for _, f := range at {
		s := c.byID[f.held.State.Source]
		switch {
		case f.held.State.Ring > 0: // its neighbours may have gone on without it
		case c.resumed.died(f.held.State) || s == nil || s.position >= 0 || s.deleted:
		case !name.Gen.IsZero() && (f.node != name.Node || f.held.State.Gen != name.Gen):
		case c.parent(p) != nil && c.parent(p).life == dead && f.held.State.Parent.Gen != c.parent(p).gen:
		case best == nil || best.held.State.Gen.Compare(f.held.State.Gen) < 0:
			best = f
		}
	}
	if best != nil {
		st := best.held.State
		c.adopt(p, live, c.byID[st.Source], st.SourceGen, best.node, st.Gen)
		keptBy[p.pos] = &best.held
	} else if s := c.byID[name.Source]; !name.Gen.IsZero() && s != nil && s.position < 0 {
		c.adopt(p, dead, s, name.SourceGen, name.Node, name.Gen)
	}
	if above == nil || p.life == vacant {
		return
	}
	for _, d := range above.Delivered {
		if d.Child == p.pos && d.ChildGen == p.gen && d.ParentGen == above.State.Gen {
			p.delivered, p.kept = true, d.Kept
		}
	}
}

func (c *Coordinator) adopt(p *place, l life, s *source, sg phalanx.Generation, n phalanx.NodeID, g PlaceGen) {
	s.position = p.pos
	if s.gen.Less(sg) {
		s.gen, s.holders, s.arrival = sg, nil, 0
	}
	p.source, p.sourceGen, p.node, p.gen, p.born = s, sg, n, g, g
	c.become(p, l)
	p.final, p.told, p.heard = s.final == sg, l == live, c.now
	c.changed(s)
	c.touch(p)
}
