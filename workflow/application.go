package workflow

import (
	"crypto/rand"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/messages"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// Application actors send these to the actor node.Service(Name). It answers the actors of its node only, and takes
// pointers to these. Deadline bounds the call's duration; 0: a minute.
type (
	// StartRun is Start; it is answered by RunStarted. Root is the last step.
	StartRun struct {
		ID       string
		Root     AnyStep
		Tasks    *Registry // of tasks that are only named; nil: none
		Deadline time.Duration
	}

	// AwaitRun waits for the end of a run; it is answered by RunEnded.
	AwaitRun struct {
		ID       string
		Deadline time.Duration
	}

	// GetStatus is StatusOf; it is answered by RunStatus.
	GetStatus struct {
		ID       string
		Deadline time.Duration
	}

	// CancelRun is Cancel; it is answered by RunChanged.
	CancelRun struct {
		ID, Cause string
		Deadline  time.Duration
	}

	// ResumeRun is Resume; it is answered by RunChanged.
	ResumeRun struct {
		ID         string
		With       []Function
		AcceptLoss bool
		Deadline   time.Duration
	}

	// SignalRun is Signal; it is answered by RunChanged.
	SignalRun struct {
		ID, Name, Key string
		Bytes         []byte
		Deadline      time.Duration
	}

	// ForgetRun is Forget; it is answered by RunChanged.
	ForgetRun struct {
		ID       string
		Deadline time.Duration
	}
)

// The answers.
type (
	RunStarted struct {
		ID, UID string
		Err     error
	}
	// RunEnded says that a run has ended. Its result is read by Attach and Result.
	RunEnded struct {
		ID  string
		Err error // of kind ErrFailed if the run has failed
	}
	RunStatus struct {
		Status
		Err error
	}
	RunChanged struct {
		ID  string
		Err error
	}
)

// application takes the messages of application actors.
func (s *service) application(c actor.Context) {
	changed := func(id string) func(core.Answer, error) any {
		return func(_ core.Answer, err error) any { return &RunChanged{id, err} }
	}
	switch m := c.Message().(type) {
	case *StartRun:
		s.starting(c, m)
	case prepared:
		s.asksFor(c, m.to, "start", m.ID, &asked{call: core.StartRun{ID: m.ID, Key: rand.Text()}, graph: m.form, work: m.work}, m.Deadline, m.answer)
	case *AwaitRun:
		s.asks(c, "result", m.ID, &asked{call: core.AwaitResult{ID: m.ID}}, m.Deadline, func(a core.Answer, err error) any {
			if err == nil && a.Result != nil && a.Result.Failed != "" {
				err = failure("result", m.ID, phalanx.ErrFailed, &RunError{m.ID, a.Result.Failed})
			}
			return &RunEnded{m.ID, err}
		})
	case *GetStatus:
		s.asks(c, "status", m.ID, &asked{call: core.GetStatus{ID: m.ID}}, m.Deadline, func(a core.Answer, err error) any { return &RunStatus{status(m.ID, a), err} })
	case *CancelRun:
		s.asks(c, "cancel", m.ID, &asked{call: core.CancelRun{ID: m.ID, Cause: m.Cause}}, m.Deadline, changed(m.ID))
	case *ResumeRun:
		s.asks(c, "resume", m.ID, &asked{call: core.ResumeRun{ID: m.ID, With: m.With, AcceptLoss: m.AcceptLoss}}, m.Deadline, changed(m.ID))
	case *SignalRun:
		s.asks(c, "signal", m.ID, &asked{call: core.SignalRun{ID: m.ID, Name: m.Name, Key: m.Key, Bytes: m.Bytes}}, m.Deadline, changed(m.ID))
	case *ForgetRun:
		s.asks(c, "forget", m.ID, &asked{call: core.ForgetRun{ID: m.ID}}, m.Deadline, changed(m.ID))
	case actor.AutoReceiveMessage, actor.SystemMessage, *actors.Woken:
	default:
		actors.Unknown(c, "service of workflows")
	}
}

// starting takes a StartRun.
func (s *service) starting(c actor.Context, m *StartRun) {
	answer := func(a core.Answer, err error) any {
		if err != nil {
			return &RunStarted{ID: m.ID, Err: err}
		}
		return &RunStarted{ID: m.ID, UID: a.Run.String()}
	}
	to, root, self := c.Sender(), c.ActorSystem().Root, c.Self()
	go func() {
		form, work, err := prepare(m.ID, m.Root, m.Tasks)
		if err == nil {
			root.Send(self, prepared{m, form, work, answer, to})
		} else if to != nil {
			root.Send(to, answer(core.Answer{}, err))
		}
	}()
}

// prepared is a StartRun whose workflow is recorded and checked: that takes long for a large one, and would hold the actor up.
type prepared struct {
	*StartRun
	form   []byte
	work   *core.Work
	answer func(core.Answer, error) any
	to     *actor.PID
}

// prepare returns the recorded form of the workflow of a run.
func prepare(id string, last AnyStep, tasks *Registry) (form []byte, work *core.Work, err error) {
	if err := invalidID("start", id); err != nil {
		return nil, nil, err
	}
	fails := func(err error) ([]byte, *core.Work, error) {
		return nil, nil, failure("start", id, phalanx.ErrInvalid, err)
	}
	if last == nil || last.node() == nil {
		return fails(errNoSteps)
	}
	g, err := recorded(last.node(), tasks)
	if err != nil {
		return fails(err)
	}
	if form, err = messages.MarshalGraph(g); err != nil {
		return fails(err)
	}
	if work, err = workOf(g, form); err == nil {
		err = work.Check()
	}
	if err != nil {
		return fails(err)
	}
	return form, work, nil
}
