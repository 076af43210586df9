package store

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/phalanx-go/phalanx"
	rnode "github.com/phalanx-go/phalanx/node/reduce"
	"github.com/phalanx-go/phalanx/protocol/reduce"
	"github.com/phalanx-go/phalanx/storenode/dataplane/combine"
)

// opCall tells since when the op has been called for an input.
type opCall struct{ since atomic.Int64 } // by the node's clock, in ns, plus 1; 0: it is not called

// opFailed tells the actor that the op has failed on an input of an output.
type opFailed struct {
	output *output
	place  int // of the input's child; -1: the place's own source
	err    error
}

// Error returns the op's own error text.
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

// sourceOf returns the source of a child, or with -1 that of this place.
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
	var calls []rnode.Call
	add := func(c *opCall, place int) {
		if since := c.since.Load(); since != 0 {
			calls = append(calls, rnode.Call{Since: time.Duration(since - 1), Source: p.sourceOf(place)})
		}
	}
	for _, f := range o.inputs {
		add(&f.call, f.place)
	}
	if o.turning != nil {
		add(&o.turning.call, -1)
	}
	p.do(rnode.OpRuns(p.env.Now(), o.gen, o.op, calls))
}
