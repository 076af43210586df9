package workflow

import (
	"context"
	"errors"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// ErrBusy says that more is being written than the disks take: try again soon. The error is an ErrUnavailable.
var ErrBusy = core.ErrBusy

// asked is a call of a client, for the service's actor.
type asked struct {
	call     core.Call
	graph    []byte     // of a StartRun
	work     *core.Work // likewise, for a controller on this node
	deadline time.Time  // zero: none, while some controller answers
	number   uint64     // set by the actor
	end      func(core.Answer)
}

// forsaken says that nobody waits for the end of a call any more.
type forsaken struct{ *asked }

// callWithin bounds calls whose context has no deadline, but for Result, which waits as long as the run goes on.
const callWithin = time.Minute

// call makes a call and waits for its answer.
func call(ctx context.Context, n *cluster.Node, op, id string, a *asked) (core.Answer, error) {
	pid, ok := n.Service(Name)
	if !ok {
		return core.Answer{}, failure(op, id, phalanx.ErrInvalid, errors.New("this node has no workflows: add workflow.Service() to cluster.Config.Services"))
	}
	if err := core.CheckCall(a.call); err != nil {
		return core.Answer{}, named(op, "", err)
	}
	if _, awaits := a.call.(core.AwaitResult); !awaits {
		if _, has := ctx.Deadline(); !has {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, callWithin)
			defer cancel()
		}
	}
	a.deadline, _ = ctx.Deadline()
	ended := make(chan core.Answer, 1)
	a.end = func(answer core.Answer) { ended <- answer }
	root := n.System().Root
	root.Send(pid, a)
	select {
	case answer := <-ended:
		return answer, named(op, id, answer.Err)
	case <-n.Done():
		return core.Answer{}, failure(op, id, phalanx.ErrClosed, errLeft)
	case <-ctx.Done():
	}
	// The actor knows why the call has no answer yet, if its time is over.
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		select {
		case answer := <-ended:
			return answer, named(op, id, answer.Err)
		case <-n.Done():
			return core.Answer{}, failure(op, id, phalanx.ErrClosed, errLeft)
		case <-time.After(answerWithin):
		}
	}
	root.Send(pid, &forsaken{a})
	return core.Answer{}, named(op, id, reason(ctx))
}

// answerWithin bounds how long after its deadline a call may return.
const answerWithin = 500 * time.Millisecond

// failure returns an error of a call, of the run id.
func failure(op, id string, kind phalanx.Kind, err error) error {
	return &phalanx.Error{Op: op, Object: phalanx.ObjectID(id), Kind: kind, Err: err}
}

// named returns an error of a controller as that of a call.
func named(op, id string, err error) error {
	if err == nil {
		return nil
	}
	var e *phalanx.Error
	if !errors.As(err, &e) {
		return failure(op, id, phalanx.ErrInternal, err)
	}
	c := *e
	c.Op, c.Object = op, phalanx.ObjectID(id)
	return &c
}

// asks makes a call for the actor that has sent the message.
func (s *service) asks(c actor.Context, op, id string, a *asked, within time.Duration, reply func(core.Answer, error) any) {
	s.asksFor(c, c.Sender(), op, id, a, within, reply)
}

// asksFor makes a call for an actor; nil: for none that wants to know.
func (s *service) asksFor(c actor.Context, to *actor.PID, op, id string, a *asked, within time.Duration, reply func(core.Answer, error) any) {
	if within <= 0 {
		within = callWithin
	}
	root := c.ActorSystem().Root
	a.deadline = time.Now().Add(within)
	a.end = func(answer core.Answer) {
		if to != nil {
			root.Send(to, reply(answer, named(op, id, answer.Err)))
		}
	}
	if err := core.CheckCall(a.call); err != nil {
		id = ""
		a.end(core.Answer{Err: err})
		return
	}
	s.ask(c, a)
}

// invalidID says what is wrong with the id of a run.
func invalidID(op, id string) error {
	if err := core.CheckID(id); err != nil {
		return named(op, "", err)
	}
	return nil
}

var errNoSteps = errors.New("the step is zero: bind a task")
