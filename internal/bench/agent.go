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

// Kind is the kind of the agents that members start for each other.
const Kind = "phalanx-bench"

// stepFor bounds one order.
const stepFor = 5 * time.Minute

// order is an order to an agent, as JSON in a message that every member knows. The
// agent answers with the same message, or with a messages.Error.
type order struct {
	Do string // prepare, run, check
	Task
}

func (o order) message() *wrapperspb.StringValue {
	b, err := json.Marshal(o)
	if err != nil {
		panic(fmt.Sprintf("bench: %v", err)) // an order always can be JSON
	}
	return wrapperspb.String(string(b))
}

// Agent returns the props of an agent on n, for cluster.Config.Kinds. An agent that
// gets no order for long ends.
func Agent(n *cluster.Node) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor { return &agent{worker: Worker{Node: n}, busy: make(chan struct{}, 1)} })
}

// agent carries orders out beside itself, one at a time, and ends them when it stops.
type agent struct {
	worker Worker
	busy   chan struct{} // has an element while an order runs
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
				err = fmt.Errorf("the agent is busy with another order")
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
