package coordinator

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/phalanx-go/phalanx"
	rnode "github.com/phalanx-go/phalanx/node/reduce"
	"github.com/phalanx-go/phalanx/protocol/reduce"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
	"github.com/phalanx-go/phalanx/storenode/dataplane/combine"
)

// combine folds small sources beside the actor.
func (c *Coordinator) combine(e rnode.Combine) {
	c.stopCombining()
	var ctx context.Context
	ctx, c.cancel = context.WithTimeout(context.Background(), e.Until-c.env.Now())
	go func() {
		done := rnode.Combined{Attempt: e.Attempt, Seq: e.Seq}
		out, failed := c.env.fold(ctx, e.CombineInline, e.Bytes)
		if failed != nil {
			done.Event = *failed
		} else {
			done.Event, done.Bytes = reduce.InlineDone{Seq: e.Seq, Size: int64(len(out)), Digest: dataplane.DigestBytes(out)}, out
		}
		c.tell(done)
	}()
}

func (c *Coordinator) stopCombining() {
	if c.cancel != nil {
		c.cancel()
	}
}

// fold returns the combination of the inputs. It gets the inputs that are nil.
func (e *Env) fold(ctx context.Context, c reduce.CombineInline, inputs [][]byte) ([]byte, *reduce.InlineFailed) {
	failed := func(source phalanx.ObjectID, err error, otherwise phalanx.Kind) *reduce.InlineFailed {
		f := &reduce.InlineFailed{Seq: c.Seq, Source: source, Kind: otherwise, Text: err.Error()}
		var pe *phalanx.Error
		if errors.As(err, &pe) {
			f.Kind = pe.Kind
		}
		return f
	}
	for i, in := range c.Inputs {
		if inputs[i] != nil {
			continue
		}
		v, err := e.Store.Get(ctx, in.Source, false)
		if err != nil {
			return nil, failed(in.Source, err, phalanx.ErrNotFound)
		}
		defer v.Release()
		if info := v.Info(); info.Gen != in.Gen {
			return nil, failed(in.Source, fmt.Errorf("the source has generation %v by now", info.Gen), phalanx.ErrReset)
		}
		inputs[i] = v.Bytes()
	}
	out := bytes.Clone(inputs[0])
	for i, b := range inputs[1:] {
		if err := e.Ops.Combine(c.Op, c.Meta.DType, out, b); err != nil {
			source := c.Inputs[i+1].Source
			e.Store.LogOp(c.Target, source, err)
			kind, text := combine.Failure(err)
			return nil, &reduce.InlineFailed{Seq: c.Seq, Source: source, Op: true, Kind: kind, Text: text}
		}
	}
	return out, nil
}
