package workflow

import (
	"context"
	"reflect"

	"github.com/phalanx-go/phalanx/cluster"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

func typeOf[R any]() reflect.Type { return reflect.TypeFor[R]() }

// State is how a run stands.
type State = core.State

// The states of a run.
const (
	Open      = core.Open      // it goes on
	Waiting   = core.Waiting   // it only waits, for a Resume or a signal
	Ending    = core.Ending    // it goes back: it has failed, or was cancelled
	Finished  = core.Finished  // it has ended
	Forgotten = core.Forgotten // its id cannot be used yet
)

// Function names what a task runs: name@version.
type Function = core.Function

// Status is how a run stands.
type Status struct {
	ID  string
	UID string
	core.Status
}

// StatusOf says how a run stands. The answer may be a second old.
func StatusOf(ctx context.Context, n *cluster.Node, id string) (Status, error) {
	a, err := call(ctx, n, "status", id, &asked{call: core.GetStatus{ID: id}})
	if err != nil {
		return Status{}, err
	}
	return status(id, a), nil
}

func status(id string, a core.Answer) Status {
	s := Status{ID: id, UID: a.Run.String()}
	if a.Status != nil {
		s.Status = *a.Status
	}
	return s
}

// Listed is a run in a list.
type Listed struct {
	ID    string
	UID   string
	State State
	Why   string // it waits, or it has failed
}

// List lists runs in the order of their ids: those whose ids begin with prefix, after the id after; at most 1,000, or limit
// if that is less and not 0. The answer may be a second old.
func List(ctx context.Context, n *cluster.Node, prefix, after string, limit int) ([]Listed, error) {
	a, err := call(ctx, n, "list", "", &asked{call: core.ListRuns{Prefix: prefix, After: after, Limit: limit}})
	return listed(a), err
}

func listed(a core.Answer) []Listed {
	var all []Listed
	for _, l := range a.List {
		all = append(all, Listed{ID: l.ID, UID: l.Name.Run.String(), State: l.Name.State, Why: l.Name.Why})
	}
	return all
}

// Cancel has a run go back: what has been done is compensated or undone, and the run fails with the cause. It returns once
// that is durable. If the run has ended before, it is ErrClosed.
func Cancel(ctx context.Context, n *cluster.Node, id, cause string) error {
	_, err := call(ctx, n, "cancel", id, &asked{call: core.CancelRun{ID: id, Cause: cause}})
	return err
}

// ResumeOption is an option of Resume.
type ResumeOption func(*core.ResumeRun)

// WithVersions names versions of functions that take the place of those in the run.
func WithVersions(with ...Function) ResumeOption {
	return func(r *core.ResumeRun) { r.With = append(r.With, with...) }
}

// AcceptLoss has a run go on without the outputs in Status.Lost, which no memory and no disk has any more. Tasks run again although
// that breaks a rule: outsiders may see an effect of the attempts before and another one, and an effect stays if its undo or its
// compensation needs such an output. A loss that comes later is asked about anew. Without such outputs it changes nothing.
func AcceptLoss() ResumeOption { return func(r *core.ResumeRun) { r.AcceptLoss = true } }

// Resume goes on with a run that is stuck: it tries again what has failed too often.
func Resume(ctx context.Context, n *cluster.Node, id string, options ...ResumeOption) error {
	r := core.ResumeRun{ID: id}
	for _, option := range options {
		option(&r)
	}
	_, err := call(ctx, n, "resume", id, &asked{call: r})
	return err
}

// Signal tells a run of an event. Key names the signal: a repeat is known by it.
func Signal(ctx context.Context, n *cluster.Node, id, name, key string, bytes []byte) error {
	_, err := call(ctx, n, "signal", id, &asked{call: core.SignalRun{ID: id, Name: name, Key: key, Bytes: bytes}})
	return err
}

// Forget deletes a run that has ended, with its result. The id can be used again after 20 minutes.
func Forget(ctx context.Context, n *cluster.Node, id string) error {
	_, err := call(ctx, n, "forget", id, &asked{call: core.ForgetRun{ID: id}})
	return err
}
