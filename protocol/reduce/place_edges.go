package reduce

import (
	"github.com/phalanx-go/phalanx"
)

// match carries over useful edges of the old command, closes the others, and
// reports whether the inputs changed.
func (p *Place) match(old State, ran, fresh bool) bool {
	was := p.edges
	p.edges = make([]edgeState, len(p.state.Children))
	if !ran {
		return true
	}
	changed := false
	for i, e := range was {
		k := old.Children[i]
		same := i < len(p.edges) && p.state.Children[i].Gen == k.Gen && p.state.Children[i].Place == k.Place
		if !same {
			changed = true
			if e.open || e.complete {
				p.emit(CloseEdge{Place: k.Place, Gen: k.Gen, Stream: e.stream})
			}
			continue
		}
		if fresh && !e.kept { // its bytes went into the old output
			if e.open {
				p.emit(CloseEdge{Place: k.Place, Gen: k.Gen, Stream: e.stream, Keep: true})
			}
			e = edgeState{broken: e.broken, retries: e.retries}
		}
		p.edges[i] = e
	}
	return changed || len(was) != len(p.edges)
}

// openEdges pulls every child that is there and not complete.
func (p *Place) openEdges() {
	for i, k := range p.state.Children {
		e := &p.edges[i]
		if k.Gen.IsZero() || e.open || e.complete || e.broken != "" {
			continue
		}
		p.streams++
		e.open, e.stream = true, p.streams
		p.emit(OpenEdge{Stream: e.stream, Order: k.Order, Place: k.Place, Node: k.Node, Gen: k.Gen})
	}
}

// edge returns the index of the child that a message names, or -1 if the
// message is stale.
func (p *Place) edge(child int, g PlaceGen) int {
	if !p.runs {
		return -1
	}
	for i, k := range p.state.Children {
		if k.Place == child && k.Gen == g && !g.IsZero() {
			return i
		}
	}
	return -1
}

func (p *Place) edgeEnded(ev EdgeEnded) {
	i := p.edge(ev.Child, ev.Gen)
	if i < 0 || !p.edges[i].open || p.edges[i].stream != ev.Stream {
		return
	}
	e := &p.edges[i]
	e.open = false
	switch {
	case ev.Complete:
		e.complete, e.kept, e.retries = true, ev.Kept, 0
		if p.state.Ring == 0 { // a ring keeps no bytes of children
			p.report(p.delivery(i))
		}
	case e.retries < p.cfg.EdgeRetries:
		e.retries++
		p.openEdges()
	default:
		e.broken = ev.Text
		if e.broken == "" {
			e.broken = "the stream ended early"
		}
		p.report(p.breakage(i))
	}
}

func (p *Place) edgeDropped(ev EdgeDropped) {
	i := p.edge(ev.Child, ev.Gen)
	if i < 0 || !p.edges[i].kept {
		return
	}
	p.edges[i].kept = false
	p.report(p.delivery(i))
}

// outputMissing makes the output again under its label, from kept children and from
// children that must be pulled again.
func (p *Place) outputMissing(ev OutputMissing) {
	if !p.runs || ev.Gen != p.state.Gen {
		return
	}
	p.made, p.waits, p.opText = nil, "", ""
	p.emit(ResetOutput(ev))
	for i := range p.edges {
		e := &p.edges[i]
		k := p.state.Children[i]
		if e.kept {
			continue
		}
		if e.open {
			p.emit(CloseEdge{Place: k.Place, Gen: k.Gen, Stream: e.stream, Keep: true})
		}
		if e.complete {
			p.report(NotDelivered{Parent: p.state.Place, ParentGen: p.state.Gen, Child: k.Place, ChildGen: k.Gen})
		}
		e.open, e.complete = false, false
	}
	p.openEdges()
	p.emit(p.combine())
}

// asked answers whether everything of a child is here.
func (p *Place) asked(ev Asked) {
	if !p.runs || ev.ParentGen != p.state.Gen {
		return
	}
	if i := p.edge(ev.Child, ev.ChildGen); i >= 0 && p.edges[i].complete {
		p.report(p.delivery(i))
		return
	}
	p.report(NotDelivered{Parent: p.state.Place, ParentGen: ev.ParentGen, Child: ev.Child, ChildGen: ev.ChildGen})
}

// reportKept reports, under a new label, children that are kept from before.
func (p *Place) reportKept() {
	for i, e := range p.edges {
		if e.complete {
			p.report(p.delivery(i))
		}
	}
}

func (p *Place) delivery(i int) Delivered {
	k := p.state.Children[i]
	return Delivered{Parent: p.state.Place, ParentGen: p.state.Gen, Child: k.Place, ChildGen: k.Gen, Kept: p.edges[i].kept}
}

func (p *Place) breakage(i int) PlaceLost {
	k := p.state.Children[i]
	return PlaceLost{Place: k.Place, Gen: k.Gen, Reason: LostEdge, Text: p.edges[i].broken}
}

// reportFailures repeats reports on which the coordinator has to act.
func (p *Place) reportFailures() {
	if p.source.failed != "" {
		p.report(PlaceLost{Place: p.state.Place, Gen: p.state.Gen, Reason: LostSource, Text: p.source.failed})
	}
	for i, e := range p.edges {
		if e.broken != "" {
			p.report(p.breakage(i))
		}
	}
	if p.waits != "" {
		p.report(Waiting{Place: p.state.Place, Gen: p.state.Gen, Text: p.waits})
	}
	p.reportOp()
	if p.source.stalled {
		p.report(Stalled{Place: p.state.Place, Gen: p.state.Gen})
	}
}

func (p *Place) sourceMoved(g phalanx.Generation, complete bool) {
	if !p.runs || g != p.state.SourceGen {
		return
	}
	p.source.moved = p.now
	p.source.complete = p.source.complete || complete
	if p.source.stalled {
		p.source.stalled = false
		p.report(Moving{Place: p.state.Place, Gen: p.state.Gen})
	}
}

func (p *Place) sourceFailed(ev SourceFailed) {
	if !p.runs || ev.Gen != p.state.SourceGen || p.source.failed != "" {
		return
	}
	p.source.failed = ev.Text
	if ev.Text == "" {
		p.source.failed = "the source cannot be read"
	}
	p.report(PlaceLost{Place: p.state.Place, Gen: p.state.Gen, Reason: LostSource, Text: p.source.failed})
}
