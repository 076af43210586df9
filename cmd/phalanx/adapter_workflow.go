package main

import (
	"context"
	"errors"
	"iter"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/workflow"
)

// WorkflowStatus says how a run stands.
func (n served) WorkflowStatus(ctx context.Context, id string) (workflow.Status, error) {
	return workflow.StatusOf(ctx, n.Node, id)
}

// WorkflowList lists runs.
func (n served) WorkflowList(ctx context.Context, prefix, after string, limit int) ([]workflow.Listed, error) {
	return workflow.List(ctx, n.Node, prefix, after, limit)
}

// WorkflowResult returns the bytes of a run's result, whatever its type is.
func (n served) WorkflowResult(ctx context.Context, id string) ([]byte, error) {
	r, err := workflow.Attach[[]byte](ctx, n.Node, id)
	var e *phalanx.Error
	if errors.As(err, &e) {
		out := *e
		out.Op = "result"
		return nil, &out
	}
	if err != nil {
		return nil, err
	}
	return r.Result(ctx)
}

// WorkflowCancel has a run go back.
func (n served) WorkflowCancel(ctx context.Context, id, cause string) error {
	return workflow.Cancel(ctx, n.Node, id, cause)
}

// WorkflowResume goes on with a run that is stuck.
func (n served) WorkflowResume(ctx context.Context, id string, options ...workflow.ResumeOption) error {
	return workflow.Resume(ctx, n.Node, id, options...)
}

// WorkflowHistory goes through what has happened in a run.
func (n served) WorkflowHistory(ctx context.Context, id string) iter.Seq2[workflow.Happened, error] {
	return workflow.History(ctx, n.Node, id)
}

// WorkflowLedger says which disks hold the runs.
func (n served) WorkflowLedger(ctx context.Context) (workflow.LedgerInfo, error) {
	return workflow.Ledger(ctx, n.Node)
}

// WorkflowGraph describes a run with how its tasks stand.
func (n served) WorkflowGraph(ctx context.Context, id string) (*workflow.Description, error) {
	return workflow.Graph(ctx, n.Node, id)
}

// WorkflowSignal tells a run of an event.
func (n served) WorkflowSignal(ctx context.Context, id, name, key string, bytes []byte) error {
	return workflow.Signal(ctx, n.Node, id, name, key, bytes)
}

// WorkflowForget deletes a run that has ended.
func (n served) WorkflowForget(ctx context.Context, id string) error {
	return workflow.Forget(ctx, n.Node, id)
}
