package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
)

// Kind is under which members start agents for each other.
const Kind = "phalanx-bench"

// stepFor bounds one order.
const stepFor = 5 * time.Minute

// Agent returns the props of an agent on n, for cluster.Config.Kinds. One that
// hears nothing for long ends.
func Agent(n *cluster.Node) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor { return &agent{node: n} })
}

type agent struct {
	node  *cluster.Node
	views []*storenode.View // what it got
	wants []float32         // of each: what every element has to be
}

// Receive carries out an order.
func (a *agent) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		c.SetReceiveTimeout(2 * stepFor)
	case *actor.ReceiveTimeout:
		c.Stop(c.Self())
	case *actor.Stopping:
		a.release()
	case *wrapperspb.StringValue:
		var o order
		if err := decode(m, &o); err != nil {
			c.Respond(encode(answerOf(err)))
			return
		}
		c.Respond(encode(answerOf(a.carryOut(o))))
	}
}

func (a *agent) carryOut(o order) error {
	ctx, cancel := context.WithTimeout(context.Background(), stepFor)
	defer cancel()
	switch o.Do {
	case "prepare":
		if o.Op == Gather || o.Op == Reduce || o.Op == AllReduce || o.Op == Broadcast && o.Rank == 0 {
			return a.put(ctx, o)
		}
		return nil
	case "run":
		return a.run(ctx, o)
	case "check":
		return a.check(o)
	}
	return fmt.Errorf("there is no order %q", o.Do)
}

func (a *agent) put(ctx context.Context, o order) error {
	values := make([]float32, o.Size/4)
	for i := range values {
		values[i] = float32(o.Rank + 1)
	}
	_, err := cluster.PutArray(ctx, a.node, o.id(o.Rank), values)
	return err
}

func (a *agent) get(ctx context.Context, id phalanx.ObjectID, want float32) error {
	v, err := a.node.Get(ctx, id)
	if err == nil {
		a.keep(v, want)
	}
	return err
}

func (a *agent) keep(v *storenode.View, want float32) {
	a.views, a.wants = append(a.views, v), append(a.wants, want)
}

func (a *agent) run(ctx context.Context, o order) error {
	sum := float32(o.Of*(o.Of+1)) / 2
	r := storenode.Reduce{Target: o.target(), Sources: o.all(), Op: phalanx.Sum}
	switch {
	case o.Op == Broadcast && o.Rank != 0:
		return a.get(ctx, o.id(0), 1)
	case o.Op == Gather && o.Rank == 0:
		g, err := a.node.Gather(ctx, o.all(), 0)
		for i, v := range g.Views {
			a.keep(v, float32(i+1))
		}
		return err
	case o.Op == Reduce && o.Rank == 0:
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		reduced := make(chan error, 1)
		go func() {
			_, err := a.node.Reduce(ctx, r)
			if err != nil {
				cancel() // there is nothing to be got
			}
			reduced <- err
		}()
		err := a.get(ctx, r.Target, sum) // while it is made
		return errors.Join(<-reduced, err)
	case o.Op == AllReduce:
		v, _, err := a.node.AllReduce(ctx, r)
		if err == nil {
			a.keep(v, sum)
		}
		return err
	case o.Op == RoundTrip && o.Rank == 0:
		if err := a.put(ctx, o); err != nil {
			return err
		}
		return a.get(ctx, o.id(1), 2)
	case o.Op == RoundTrip && o.Rank == 1:
		if err := a.get(ctx, o.id(0), 1); err != nil {
			return err
		}
		return a.put(ctx, o)
	}
	return nil
}

// check looks at every element of what the node got, and releases it.
func (a *agent) check(o order) error {
	defer a.release()
	for i, v := range a.views {
		b := v.Bytes()
		if int64(len(b)) != o.Size {
			return fmt.Errorf("%q has %d bytes, not %d", string(v.Info().Object), len(b), o.Size)
		}
		for k, x := range unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4) {
			if x != a.wants[i] {
				return fmt.Errorf("element %d of %q is %g, not %g", k, string(v.Info().Object), x, a.wants[i])
			}
		}
	}
	return nil
}

func (a *agent) release() {
	for _, v := range a.views {
		v.Release()
	}
	a.views, a.wants = nil, nil
}
