package workflow

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// Run is a run of a workflow with a result of type R. It is a handle: any number of them, on any nodes, can be of one
// run. It is safe for concurrent use.
type Run[R any] struct {
	node *cluster.Node
	id   string
	uid  core.UID
}

// ID returns the id under which the run was started.
func (r Run[R]) ID() string { return r.id }

// UID returns the name of the run that no other run ever has, as keys of its tasks begin.
func (r Run[R]) UID() string { return r.uid.String() }

// StartOption is an option of Start.
type StartOption func(*startOptions)

type startOptions struct {
	tasks  []*Registry
	copies int  // disks that hold the ledger
	waits  bool // for them
}

// WithTasks names registries in which Start looks up tasks that a workflow only names.
func WithTasks(tasks ...*Registry) StartOption {
	return func(o *startOptions) { o.tasks = append(o.tasks, tasks...) }
}

// Start begins the run id of the workflow that ends with root, and returns once that is durable. If there is a run of that
// id already, of the same workflow, Start attaches to it; of another workflow it is ErrMismatch, which names the
// first difference. An id has 1 to 256 bytes without control characters.
//
// The errors are phalanx.Errors with the op "start" and the run's id: ErrInvalid (the id; a *CheckError; no disk in the
// cluster), ErrNoSpace (the disk of the node that leads is nearly full), ErrUnavailable (no controller, and why; ErrBusy), ErrDeleted (the run was forgotten just now), ErrDeadline.
// After ErrUnavailable and ErrDeadline the run may have begun: repeat the Start.
func Start[R any](ctx context.Context, n *cluster.Node, id string, root Step[R], options ...StartOption) (Run[R], error) {
	none := Run[R]{}
	var o startOptions
	for _, option := range options {
		option(&o)
	}
	form, work, err := prepare(id, root, merged(o.tasks))
	if err != nil {
		return none, err
	}
	if o.waits {
		if err := awaitCopies(ctx, n, id, o.copies); err != nil {
			return none, err
		}
	}
	answer, err := call(ctx, n, "start", id, &asked{call: core.StartRun{ID: id, Key: rand.Text()}, graph: form, work: work})
	if err != nil {
		return none, err
	}
	return Run[R]{n, id, answer.Run}, nil
}

// Attach returns a handle of the run id, which was started on any node. ErrNotFound says that there is none.
func Attach[R any](ctx context.Context, n *cluster.Node, id string) (Run[R], error) {
	answer, err := call(ctx, n, "attach", id, &asked{call: core.AttachRun{ID: id}})
	if err != nil {
		return Run[R]{}, err
	}
	return Run[R]{n, id, answer.Run}, nil
}

// RunError says why a run has failed, or was cancelled. It is in a phalanx.Error of kind ErrFailed.
type RunError struct {
	Run string // its id
	Why string // names the task, if one has failed
}

// Error returns why the run has failed.
func (e *RunError) Error() string { return "the run has failed: " + e.Why }

// Result waits until the run has ended, and returns its result. It has objects put again that Refs in the result name, and of which only
// checkpoints are left. If it has failed the error is of kind ErrFailed, with a
// *RunError. Result waits as long as ctx allows; a context without a deadline waits while some controller
// answers.
func (r Run[R]) Result(ctx context.Context) (R, error) {
	var none R
	answer, err := call(ctx, r.node, "result", r.id, &asked{call: core.AwaitResult{ID: r.id}})
	if err != nil {
		return none, err
	}
	switch {
	case answer.Result == nil:
		return none, failure("result", r.id, phalanx.ErrInternal, errors.New("the controller has answered without a result"))
	case answer.Run != r.uid:
		return none, failure("result", r.id, phalanx.ErrDeleted, errors.New("the run was forgotten, and another one has its id"))
	case answer.Result.Failed != "":
		return none, failure("result", r.id, phalanx.ErrFailed, &RunError{r.id, answer.Result.Failed})
	case len(answer.Result.Outputs) != 1:
		return none, failure("result", r.id, phalanx.ErrInternal, fmt.Errorf("the run has %d results", len(answer.Result.Outputs)))
	}
	c, why := codecOf(typeOf[R]())
	if why != "" {
		return none, failure("result", r.id, phalanx.ErrInvalid, fmt.Errorf("no output of a task is a %v: %s", typeOf[R](), why))
	}
	b, release, err := r.bytes(ctx, answer.Result.Outputs[0])
	if err != nil {
		return none, named("result", r.id, err)
	}
	defer release()
	v, err := c.decode(b)
	if err != nil {
		return none, failure("result", r.id, phalanx.ErrMismatch, fmt.Errorf("the result is no %v: %w", typeOf[R](), err))
	}
	return v.(R), nil
}
