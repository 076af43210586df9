package reduce

import (
	"cmp"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// source is the coordinator's knowledge of one source.
type source struct {
	id       phalanx.ObjectID
	gen      phalanx.Generation // the greatest that was heard of
	final    phalanx.Generation // that is known to be final
	holders  []*holder          // of gen, in the order in which they were announced
	arrival  uint64             // order of readiness; 0: not ready
	position int                // of its place, -1: none
	stalled  bool               // lost a place because it made no progress
	deleted  bool               // failed until it is put again
	making   bool               // another Reduce makes it at its holder

	slot  int  // in Coordinator.queue, from 1 on; 0: it is not there
	aside bool // it is among Coordinator.aside: no holder takes a place now
	whole bool // it is ready and final
}

// holder is a node where a source can be read.
type holder struct {
	node    phalanx.NodeID
	strikes int           // how many places failed there
	barred  time.Duration // until then, no place is tried there
}

func (s *source) holder(n phalanx.NodeID) *holder {
	for _, h := range s.holders {
		if h.node == n {
			return h
		}
	}
	return nil
}

// drop takes note that s cannot be read at n any more.
func (c *Coordinator) drop(s *source, n phalanx.NodeID) {
	if s.holder(n) == nil {
		return
	}
	s.holders = slices.DeleteFunc(s.holders, func(h *holder) bool { return h.node == n })
	if len(s.holders) == 0 {
		s.arrival = 0
		c.changed(s)
	}
}

// surveyed handles sources that are ready at the start in the order of the request, except
// a source of this node: the root is best here, at the node of the request, if there is
// room for it.
func (c *Coordinator) surveyed(ev Surveyed) {
	first := c.arrivals == 0
	for _, r := range ev.Ready {
		c.candidate(r.Node)
	}
	of := map[phalanx.ObjectID][]Ready{}
	for _, r := range ev.Ready {
		of[r.Source] = append(of[r.Source], r)
	}
	for _, s := range c.sources {
		for _, r := range of[s.id] {
			c.ready(r)
		}
	}
	if first && c.tree.Len() > 0 && c.meta.Size <= c.cfg.Room {
		c.rootHere(uint64(c.tree.Rank(0)) + 1)
	}
}

// rootHere has a source of this node arrive when the root's turn is.
func (c *Coordinator) rootHere(turn uint64) {
	own := slices.IndexFunc(c.sources, func(s *source) bool { return s.arrival > 0 && s.holder(c.cfg.Node) != nil })
	at := slices.IndexFunc(c.sources, func(s *source) bool { return s.arrival == turn })
	if own >= 0 && at >= 0 {
		c.sources[own].arrival, c.sources[at].arrival = turn, c.sources[own].arrival
		c.changed(c.sources[own])
		c.changed(c.sources[at])
	}
}

func (c *Coordinator) ready(ev Ready) {
	s := c.byID[ev.Source]
	if s == nil || s.deleted && !s.gen.Less(ev.Gen) || ev.Meta.Size == phalanx.UnknownSize || ev.Gen.Less(s.gen) || c.gone[ev.Node] {
		return
	}
	if s.gen.Less(ev.Gen) {
		c.sourceReset(s.id, ev.Gen)
	}
	c.candidate(ev.Node)
	if !c.fix(s.id, ev.Meta) {
		c.keepUnmatched(ev)
		return
	}
	s.making = ev.Kind == Target && !ev.Final
	if s.holder(ev.Node) == nil {
		s.holders = append(s.holders, &holder{node: ev.Node})
	}
	if ev.Final {
		c.sourceFinal(SourceFinal{Source: s.id, Gen: ev.Gen})
	}
	if s.arrival == 0 {
		c.arrivals++
		s.arrival = c.arrivals
	}
	c.changed(s)
}

// fix takes size, element type and degree from the first source, and reports
// whether this one matches.
func (c *Coordinator) fix(id phalanx.ObjectID, m phalanx.Meta) bool {
	if c.fixed {
		if m.Equal(c.meta) {
			return true
		}
		if c.phase == finalising {
			return false // it matters only if the root has ended: ready keeps it
		}
		c.hopeless(c.fault(id, phalanx.ErrMismatch, "the source is %s, but %q is %s", describe(m), string(c.first), describe(c.meta)))
		return false
	}
	if err := m.Validate(); err != nil {
		c.hopeless(c.fault(id, phalanx.ErrInvalid, "%w", cause(err)))
		return false
	}
	if c.cfg.Op.Builtin() && !c.cfg.Op.Supports(m.DType) {
		instead := ""
		if m.DType == phalanx.Bytes {
			instead = ": put it as an array, with its element type (--dtype, Phalanx-DType)"
		}
		c.hopeless(c.fault(id, phalanx.ErrInvalid, "%s is not defined on %v%s", c.cfg.Op, m.DType, instead))
		return false
	}
	c.fixed, c.meta, c.first = true, m, id
	c.inline = m.Size < c.cfg.InlineLimit
	if !c.inline {
		d := c.cfg.Degree
		if d == 0 {
			latency, bandwidth := c.network()
			d = ChooseDegree(c.cfg.Num, m.Size, latency, bandwidth)
			if d > MaxDegree {
				d = 2
			}
		}
		c.plant(d)
		c.mayCircle()
	}
	return true
}

// unfix forgets the first source's size if that source was given up before
// any other was ready: the next one may differ.
func (c *Coordinator) unfix() {
	if !c.fixed {
		return
	}
	some := func(s *source) bool { return s.arrival > 0 || s.position >= 0 }
	if c.some != nil && some(c.some) {
		return
	}
	if i := slices.IndexFunc(c.sources, some); i >= 0 {
		c.some = c.sources[i]
		return
	}
	if c.phase != inspecting && len(c.nodes) == 0 && len(c.combine.inputs) == 0 {
		if c.ring == gathering {
			c.watchSources()
		}
		c.fixed, c.inline, c.places, c.ring = false, false, nil, noRing
	}
}

func (c *Coordinator) sourceFinal(ev SourceFinal) {
	s := c.byID[ev.Source]
	if s == nil {
		return
	}
	if s.gen.Less(ev.Gen) {
		c.sourceReset(s.id, ev.Gen)
	}
	if s.final.Less(ev.Gen) {
		s.final, s.stalled = ev.Gen, false
		c.changed(s)
	}
	if p := c.placeOf(s); p != nil && p.sourceGen == ev.Gen {
		p.final = true
	}
}

// sourceReset forgets the old generation. Its bytes must leave the result if it never
// became final; bytes of a final one may stay.
func (c *Coordinator) sourceReset(id phalanx.ObjectID, gen phalanx.Generation) {
	s := c.byID[id]
	if s == nil || !s.gen.Less(gen) {
		return
	}
	s.gen, s.holders, s.arrival, s.stalled = gen, nil, 0, false
	if s.deleted { // it is put again
		s.deleted = false
		c.deleted--
	}
	c.changed(s)
	if p := c.placeOf(s); p != nil && !p.final {
		c.empty(p, LostReset, "")
	}
	c.unfix()
}

func (c *Coordinator) sourceGone(ev SourceGone) {
	s := c.byID[ev.Source]
	if s == nil || ev.Gen.Less(s.gen) {
		return
	}
	s.gen, s.holders, s.arrival, s.stalled = ev.Gen, nil, 0, false
	c.changed(s)
	p := c.placeOf(s)
	switch ev.Kind {
	case phalanx.ErrDeleted:
		if !s.deleted {
			s.deleted = true
			c.deleted++
		}
		if p != nil && !p.final {
			c.empty(p, LostDeleted, "")
		} else if p != nil && p.life == live {
			c.lose(p, LostDeleted, "", true)
		}
		c.enough(s.id)
	case phalanx.ErrAborted:
		s.gen = phalanx.Generation{} // the next generation can be older: an earlier copy whose node was away
		if p != nil && !p.final {
			c.empty(p, LostAborted, "")
		}
	}
	c.unfix()
}

// sourceMissing empties the place that has read a source, unless that is known to be final.
func (c *Coordinator) sourceMissing(ev SourceMissing) {
	s := c.byID[ev.Source]
	switch {
	case s == nil:
	case c.phase == inspecting:
		c.resumed.missing = append(c.resumed.missing, ev)
	case c.phase == running:
		if p := c.placeOf(s); p != nil && !p.final {
			c.sourceGone(SourceGone{Source: ev.Source, Gen: cmp.Or(ev.Gen, p.sourceGen), Kind: ev.Kind})
		}
	}
}

// hopeless fails the Reduce because of its sources. Before Begin is answered the target may
// be final already, made by the same request: then the loss of sources does not matter.
func (c *Coordinator) hopeless(err *phalanx.Error) {
	switch {
	case !c.ask.pending || c.phase == ended:
		c.fail(err, true)
	case c.phase != following && c.unsaid == nil:
		c.unsaid = err
	}
}

// enough fails the Reduce if too few sources are left that can ever be ready;
// id is the source that was deleted last.
func (c *Coordinator) enough(id phalanx.ObjectID) {
	if len(c.sources)-c.deleted >= c.cfg.Num {
		return
	}
	left, combined := 0, c.combine.set()
	for _, s := range c.sources {
		if !s.deleted || s.position >= 0 || combined[s] {
			left++
		}
	}
	if left < c.cfg.Num {
		c.hopeless(c.fault(id, phalanx.ErrDeleted, "%d sources are left, %d are needed for %q", left, c.cfg.Num, string(c.cfg.Target)))
	}
}

func (c *Coordinator) holderGone(ev HolderGone) {
	if s := c.byID[ev.Source]; s != nil {
		c.drop(s, ev.Node)
		c.unfix()
	}
}

// bar keeps places for s away from n for a while, longer each time.
func (c *Coordinator) bar(s *source, n phalanx.NodeID) {
	h := s.holder(n)
	if h == nil {
		return
	}
	h.barred = c.now + min(c.cfg.BarFor<<min(h.strikes, 8), c.cfg.BarMax)
	h.strikes++
}

// pick returns the best holder for a place of s: it has the fewest places of this
// Reduce, and among equals was announced first; nil if there is none.
func (c *Coordinator) pick(s *source) *holder {
	var best *holder
	least := 0
	for _, h := range s.holders {
		if !c.takes(h) {
			continue
		}
		if n := c.loads[h.node]; best == nil || n < least {
			best, least = h, n
		}
	}
	return best
}

// usable reports whether pick finds something.
func (c *Coordinator) usable(s *source) bool {
	return slices.ContainsFunc(s.holders, c.takes)
}

// takes reports whether a place can be tried at a holder. A member that is about to
// leave takes none. Others copy its sources, and are holders then.
func (c *Coordinator) takes(h *holder) bool {
	return h.barred <= c.now && h.node != "" && !slices.Contains(c.leaving, h.node)
}
