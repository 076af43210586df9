package store

import (
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

// An inner place keeps its whole output while memory allows. When another place
// on the node has to wait for room, memory does not: the output is given up, and
// made again in a window if it is still needed.

// shrinkOutput asks a place to give up what it keeps.
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

// shrinkOutput gives the output up, unless it is the target or costs nothing. One that
// its parent has is made again only if it is asked for.
func (p *place) shrinkOutput() {
	o := p.out
	if o == nil || o.shared || o.given || o.turning != nil || o.sink.isZero() || p.core.State().Root {
		return
	}
	if o.delivered.Load() && len(p.core.Held().Delivered) == len(p.core.State().Children) {
		o.given = true
		p.hub.gone(p.key, p.self, o)
		go o.letGo()
		return
	}
	if o.sink.buffer != nil && o.meta.Size > leastSink {
		p.tight = true
		p.do(reduce.OutputMissing{Gen: o.gen})
	}
}

// missing makes the output again, from children that are asked again.
func (p *place) missing(m missing) {
	if p.out != nil && p.out == m.output {
		p.do(reduce.OutputMissing{Gen: p.out.gen})
	}
}
