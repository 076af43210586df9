package store

import (
	rnode "github.com/phalanx-go/phalanx/node/reduce"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

// An inner place keeps its whole output while memory allows. When another place
// on the node has to wait for room, memory does not: the output is given up, and
// made again in a window if it is still needed.

// shrinkOutput asks a place to give up the output that it keeps.
type shrinkOutput struct{}

// missing tells a place that the parent asks for bytes of an output that are not
// kept.
type missing struct{ output *output }

// ShrinkOutputs has the inner places of this node give up the outputs that they keep.
func (h *Places) ShrinkOutputs() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, pid := range h.actors {
		h.env.send(pid, shrinkOutput{})
	}
}

func (p *place) shrinkOutput() {
	if o := p.out; o != nil {
		p.happens(rnode.Shrink{Delivered: o.delivered.Load(), Large: o.sink.buffer != nil && o.meta.Size > leastSink})
	}
}

func (p *place) giveOutput() {
	p.out.given = true
	p.hub.gone(p.key, p.self, p.out)
	go p.out.letGo()
}

// missing makes the output again, from children that are asked again.
func (p *place) missing(m missing) {
	if p.out != nil && p.out == m.output {
		p.do(reduce.OutputMissing{Gen: p.out.gen})
	}
}
