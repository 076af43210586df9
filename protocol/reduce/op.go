package reduce

import (
	"github.com/phalanx-go/phalanx"
)

// An op is the application's code. It can fail, on the bytes of any source, and it
// can never return. A failure ends the Reduce at once. A call that does not return
// cannot be ended, so the deadline's error names it.

// opFailed keeps the first failure of the op under the present label.
func (p *Place) opFailed(ev OpFailed) {
	if p.runs && ev.Gen == p.state.Gen && p.opFailure == nil {
		p.opFailure = &CombineFailed{Place: p.state.Place, Gen: ev.Gen, Source: ev.Source, Kind: ev.Kind, Text: ev.Text}
		p.report(*p.opFailure)
	}
}

func (p *Place) opRuns(ev OpRuns) {
	if p.runs && ev.Gen == p.state.Gen && ev.Text != p.opText {
		p.opText = ev.Text
		p.report(Combining{Place: p.state.Place, Gen: ev.Gen, Text: ev.Text})
	}
}

// reportOp repeats the last report on the op.
func (p *Place) reportOp() {
	if p.opFailure != nil {
		p.report(*p.opFailure)
	}
	if p.opText != "" {
		p.report(Combining{Place: p.state.Place, Gen: p.state.Gen, Text: p.opText})
	}
}

// combineFailed ends the Reduce. A place that combines under an older label is not
// heard: its inputs may be of a source that has started over.
func (c *Coordinator) combineFailed(ev CombineFailed) {
	p := c.at(ev.Place)
	if c.phase != running || p == nil || p.life != live || p.gen != ev.Gen {
		return
	}
	source := ev.Source
	if c.byID[source] == nil {
		source = p.source.id
	}
	err := c.fault(source, ev.Kind, "the source cannot be combined into %q: %s", string(c.cfg.Target), ev.Text)
	if ev.Kind == 0 {
		err.Kind = phalanx.ErrInternal
	}
	err.Node = p.node
	c.fail(err, true)
}

// combines takes note of a place whose op does not return.
func (c *Coordinator) combines(ev Combining) {
	if p := c.at(ev.Place); p != nil && p.life == live && p.gen == ev.Gen {
		p.combining = ev
	}
}

// blocked returns the first place whose op does not return, or nil.
func (c *Coordinator) blocked() *place {
	for _, p := range c.places {
		if p.life == live && p.combining.Gen == p.gen && p.combining.Text != "" {
			return p
		}
	}
	return nil
}
