package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/messages"
)

// Kind is under which members start agents for each other.
const Kind = "phalanx-bench"

// stepFor bounds one order.
const stepFor = 5 * time.Minute

// order is what an agent is to do, as JSON in a message that every member knows.
// It answers with the same message, or with a messages.Error.
type order struct {
	Do string // prepare, run, check
	Task
}

func (o order) message() *wrapperspb.StringValue {
	b, err := json.Marshal(o)
	if err != nil {
		panic(fmt.Sprintf("bench: %v", err)) // it always can be
	}
	return wrapperspb.String(string(b))
}

// Agent returns the props of an agent on n, for cluster.Config.Kinds. One that
// hears nothing for long ends.
func Agent(n *cluster.Node) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor { return &agent{worker: Worker{Node: n}, busy: make(chan struct{}, 1)} })
}

// agent carries orders out beside itself, one at a time, and ends them when it
// is stopped.
type agent struct {
	worker Worker
	busy   chan struct{} // holds one while an order is carried out
	ctx    context.Context
	cancel context.CancelFunc
}

// Receive takes an order.
func (a *agent) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		a.ctx, a.cancel = context.WithCancel(context.Background())
		c.SetReceiveTimeout(2 * stepFor)
	case *actor.ReceiveTimeout:
		c.Stop(c.Self())
	case *actor.Stopping:
		a.cancel()
		a.busy <- struct{}{}
		a.worker.Release()
	case *wrapperspb.StringValue:
		var o order
		err := json.Unmarshal([]byte(m.GetValue()), &o)
		if err == nil {
			select {
			case a.busy <- struct{}{}:
			default:
				err = fmt.Errorf("it is busy with another order")
			}
		}
		if err != nil {
			c.Respond(messages.ErrorToProto(err))
			return
		}
		root, to := c.ActorSystem().Root, c.Sender()
		go func() {
			err := a.carryOut(o)
			<-a.busy
			if err != nil {
				root.Send(to, messages.ErrorToProto(err))
				return
			}
			root.Send(to, m)
		}()
	}
}

func (a *agent) carryOut(o order) error {
	ctx, cancel := context.WithTimeout(a.ctx, stepFor)
	defer cancel()
	switch o.Do {
	case "prepare":
		return a.worker.Prepare(ctx, o.Task)
	case "run":
		return a.worker.Run(ctx, o.Task)
	case "check":
		return a.worker.Check(o.Task)
	}
	return fmt.Errorf("there is no order %q", o.Do)
}
