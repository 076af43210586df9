package reduce

import (
	"cmp"
	"slices"

	"github.com/phalanx-go/phalanx"
)

// combine is the Reduce of small sources, which the coordinator's host does.
type combine struct {
	seq     uint64
	pending bool // a CombineInline is not answered
	inputs  []*source
	digest  phalanx.Digest
}

// set returns the inputs as a set.
func (c combine) set() map[*source]bool {
	in := make(map[*source]bool, len(c.inputs))
	for _, s := range c.inputs {
		in[s] = true
	}
	return in
}

// settleInline has the first Num sources that are ready and final combined.
func (c *Coordinator) settleInline() {
	if c.combine.pending || c.whole < c.cfg.Num { // which costs nothing with many sources
		return
	}
	var ready []*source
	for _, s := range c.sources {
		if s.arrival > 0 && !s.deleted && s.final == s.gen && c.readable(s) != nil {
			ready = append(ready, s)
		}
	}
	if len(ready) < c.cfg.Num {
		return
	}
	slices.SortFunc(ready, func(a, b *source) int { return cmp.Compare(a.arrival, b.arrival) })
	c.combine = combine{seq: c.combine.seq + 1, pending: true, inputs: ready[:c.cfg.Num]}
	e := CombineInline{Seq: c.combine.seq, Target: c.cfg.Target, TargetGen: c.gen, Op: c.cfg.Op, Meta: c.meta}
	for _, s := range c.combine.inputs {
		e.Inputs = append(e.Inputs, Input{Source: s.id, Gen: s.gen, Node: c.readable(s).node})
	}
	c.emit(e)
}

// readable returns the first place where s can be read now, or nil.
func (c *Coordinator) readable(s *source) *holder {
	for _, h := range s.holders {
		if h.barred <= c.now {
			return h
		}
	}
	return nil
}

func (c *Coordinator) inlineDone(ev InlineDone) {
	if c.phase != running || !c.combine.pending || ev.Seq != c.combine.seq {
		return
	}
	if ev.Size != c.meta.Size {
		c.fail(c.fault(c.cfg.Target, phalanx.ErrInternal, "the coordinator made %d bytes of the sources, which have %d", ev.Size, c.meta.Size), true)
		return
	}
	c.combine.pending, c.combine.digest = false, ev.Digest
	c.finish()
}

// inlineFailed leaves the source out until it can be tried again.
func (c *Coordinator) inlineFailed(ev InlineFailed) {
	if c.phase != running || !c.combine.pending || ev.Seq != c.combine.seq {
		return
	}
	s := c.byID[ev.Source]
	if s == nil || ev.Op {
		err := c.fault(ev.Source, ev.Kind, "the source cannot be combined into %q: %s", string(c.cfg.Target), ev.Text)
		err.Node = c.cfg.Node
		c.fail(err, true)
		return
	}
	c.combine.pending, c.combine.inputs = false, nil
	if h := c.readable(s); h != nil {
		c.bar(s, h.node)
	}
}
