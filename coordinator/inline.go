package coordinator

import (
	"bytes"
	"context"
	"time"

	rnode "github.com/phalanx-go/phalanx/node/reduce"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
	"github.com/phalanx-go/phalanx/storenode/dataplane/combine"
)

// combine folds small sources beside the actor.
func (c *Coordinator) combine(e rnode.Combine) {
	c.stopCombining()
	var ctx context.Context
	ctx, c.cancel = within(e.Until, c.env.Now())
	go func() { c.tell(c.env.fold(ctx, e)) }()
}

// within returns a context that ends at until; 0: never.
func within(until, now time.Duration) (context.Context, context.CancelFunc) {
	if until == 0 {
		return context.WithCancel(context.Background())
	}
	return context.WithTimeout(context.Background(), until-now)
}

func (c *Coordinator) stopCombining() {
	if c.cancel != nil {
		c.cancel()
	}
}

// fold combines sources, and gets the missing ones.
func (e *Env) fold(ctx context.Context, c rnode.Combine) rnode.Combined {
	for i := c.Missing(); i >= 0; i = c.Missing() {
		v, err := e.Store.Get(ctx, c.Inputs[i].Source, false)
		if err != nil {
			return c.Unread(i, err)
		}
		defer v.Release()
		if failed, ok := c.Take(i, v.Info().Gen, v.Bytes()); !ok {
			return failed
		}
	}
	out := bytes.Clone(c.Bytes[0])
	for i, b := range c.Bytes[1:] {
		if err := e.Ops.Combine(c.Op, c.Meta.DType, out, b); err != nil {
			e.Store.LogOp(c.Target, c.Inputs[i+1].Source, err)
			kind, text := combine.Failure(err)
			return c.OpFailed(i+1, kind, text)
		}
	}
	return c.Made(out, dataplane.DigestBytes(out))
}
