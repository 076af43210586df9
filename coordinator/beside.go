package coordinator

import (
	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/reduce"
	"github.com/phalanx-go/phalanx/storenode"
)

// Messages to a coordinator from inside its node.
type (
	// beside wraps what was started by one attempt, which means nothing to the
	// next: its requests and combinations have numbers of their own.
	beside struct {
		attempt uint64
		message any
	}
	happened struct{ reduce.Event }
	told     struct { // a watch has something new
		index int
		directory.Readiness
	}
	combined struct {
		event reduce.Event
		bytes []byte
		seq   uint64
	}
	surveyed struct{} // what is ready at the start was waited for long enough
	canceled struct{ err *phalanx.Error }
	silent   struct{ err *phalanx.Error } // the target's owner says nothing
	made     struct{ storenode.Info }     // the target is final
)

// heard takes what was started beside this instance.
func (c *Coordinator) heard(ctx actor.Context, message any) {
	switch m := message.(type) {
	case answeredAsk:
		c.answered(ctx, m)
	case happened:
		c.do(ctx, m.Event)
	case silent:
		c.answer(storenode.ReduceResult{}, m.err)
		c.do(ctx, reduce.Cancel{})
	case told:
		c.watchNext(m.index)
		for _, ev := range c.survey.take(m.index, m.Readiness) {
			c.do(ctx, ev)
		}
	case surveyed:
		if ev := c.survey.end(); ev != nil {
			c.do(ctx, ev)
		}
	case combined:
		if m.seq == c.seq {
			c.inline = m.bytes
			c.do(ctx, m.event)
		}
	}
}

// later returns how what runs beside this instance sends to it.
func (c *Coordinator) later() func(message any) {
	sys, self, attempt := c.env.Store.System, c.self, c.run.attempt
	return func(message any) { sys.Root.Send(self, beside{attempt, message}) }
}
