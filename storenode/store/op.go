package store

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/reduce"
	"github.com/phalanx-go/phalanx/storenode/dataplane/combine"
)

// slowOp is how long an op may take for one block before the coordinator hears of
// it: it may never return, and nobody can end it.
const slowOp = time.Second

// opCall tells since when the op has been called for an input.
type opCall struct{ since atomic.Int64 } // by the node's clock, in ns, plus 1; 0: it is not called

// opFailed tells the actor that the op has failed on an input of an output.
type opFailed struct {
	output *output
	place  int // of the child whose bytes they were; -1: the own source
	err    error
}

// Error returns what the op said.
func (f opFailed) Error() string { return f.err.Error() }

// apply has the op fold src into dst.
func (o *output) apply(call *opCall, dst, src []byte) error {
	call.since.Store(int64(o.place.env.Now()) + 1)
	err := o.place.hub.ops.Combine(o.op, o.meta.DType, dst, src)
	call.since.Store(0)
	return err
}

// opFailed tells the coordinator, which ends the Reduce.
func (p *place) opFailed(m opFailed) {
	if p.out != m.output {
		return
	}
	source := p.sourceOf(m.place)
	kind, text := combine.Failure(m.err)
	p.env.LogOp(p.key.Target, source, m.err)
	p.do(reduce.OpFailed{Gen: m.output.gen, Source: source, Kind: kind, Text: text})
}

// LogOp logs that an op has failed on a source of target; after a panic, where.
func (e *Env) LogOp(target, source phalanx.ObjectID, err error) {
	log := e.Log.WithField("reduce", target).WithField("object", source).WithError(err)
	var panicked *combine.Panic
	if errors.As(err, &panicked) {
		log = log.WithField("stack", string(panicked.Stack))
	}
	log.Warn("an op failed")
}

// sourceOf returns the source of a child, or with -1 the own.
func (p *place) sourceOf(place int) phalanx.ObjectID {
	s := p.core.State()
	for _, k := range s.Children {
		if k.Place == place && k.Source != "" {
			return k.Source
		}
	}
	return s.Source
}

// watchOp tells of an op that does not return.
func (p *place) watchOp() {
	o := p.out
	if o == nil {
		return
	}
	now, text := p.env.Now(), ""
	slow := func(c *opCall, place int) {
		since := c.since.Load()
		if since == 0 || now-time.Duration(since) < slowOp || text != "" {
			return
		}
		text = fmt.Sprintf("the op %q does not return; it was called for %q", string(o.op), string(p.sourceOf(place)))
	}
	for _, f := range o.inputs {
		slow(&f.call, f.place)
	}
	if o.turning != nil {
		slow(&o.turning.call, -1)
	}
	p.do(reduce.OpRuns{Gen: o.gen, Text: text})
}
