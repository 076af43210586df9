package fakenode

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/workflow"
)

// run is a run of a workflow. The node's lock guards it.
type run struct {
	status workflow.Status
	result []byte
	keys   map[string]string // of the signals that it has taken, by name
}

// StartRun begins a run of one task, which goes on until EndRun.
func (n *Node) StartRun(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.seq++
	r := &run{status: workflow.Status{ID: id, UID: fmt.Sprint("run-", n.seq)}, keys: map[string]string{}}
	r.status.State, r.status.Tasks, r.status.Running = workflow.Open, 1, 1
	n.runs[id] = r
}

// EndRun ends a run with a result, or as one that has failed if there is a reason why.
func (n *Node) EndRun(id string, result []byte, why string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.endRun(n.runs[id], result, why)
}

func (n *Node) endRun(r *run, result []byte, why string) {
	r.result = result
	r.status.Status = workflow.Status{}.Status // no numbers
	r.status.State, r.status.Why = workflow.Finished, why
	n.changed.Broadcast()
}

// StickRun has a run wait for a Resume with other versions of functions, since no member offers pay@1.
func (n *Node) StickRun(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := &n.runs[id].status
	s.State, s.Why, s.Running, s.Ready, s.Lacks = workflow.Waiting, "no member offers pay@1", 0, 1, []workflow.Function{{Name: "pay", Version: 1}}
}

// findRun returns a run, or why there is none. It is called with the lock held.
func (n *Node) findRun(ctx context.Context, op, id string) (*run, error) {
	object := phalanx.ObjectID(id)
	if n.Fail != nil {
		return nil, n.Fail
	}
	if err := ended(ctx, op, object, "the context had ended before the call"); err != nil {
		return nil, err
	}
	if err := object.Validate(); err != nil {
		return nil, as(op, err)
	}
	switch r := n.runs[id]; {
	case r == nil, r.status.State == workflow.Forgotten && (op == "status" || op == "history" || op == "graph"):
		return nil, fail(op, object, phalanx.ErrNotFound, fmt.Sprintf("there is no run %q", id))
	case r.status.State == workflow.Forgotten:
		return nil, fail(op, object, phalanx.ErrDeleted, fmt.Sprintf("run %q was forgotten", id))
	default:
		return r, nil
	}
}

// changeRun calls f with a run that has not ended.
func (n *Node) changeRun(ctx context.Context, op, id string, f func(r *run) error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	r, err := n.findRun(ctx, op, id)
	if err == nil && r.status.State == workflow.Finished {
		err = fail(op, phalanx.ObjectID(id), phalanx.ErrClosed, fmt.Sprintf("run %q has ended", id))
	}
	if err != nil {
		return err
	}
	return f(r)
}

// WorkflowStatus says how a run stands.
func (n *Node) WorkflowStatus(ctx context.Context, id string) (workflow.Status, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	r, err := n.findRun(ctx, "status", id)
	if err != nil {
		return workflow.Status{}, err
	}
	return r.status, nil
}

// WorkflowList lists runs.
func (n *Node) WorkflowList(ctx context.Context, prefix, after string, limit int) ([]workflow.Listed, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.Fail != nil {
		return nil, n.Fail
	}
	if err := ended(ctx, "list", "", "the context had ended before the call"); err != nil {
		return nil, err
	}
	var all []workflow.Listed
	for id, r := range n.runs {
		if strings.HasPrefix(id, prefix) && id > after {
			all = append(all, workflow.Listed{ID: id, UID: r.status.UID, State: r.status.State, Why: r.status.Why})
		}
	}
	slices.SortFunc(all, func(a, b workflow.Listed) int { return strings.Compare(a.ID, b.ID) })
	if limit > 0 {
		all = all[:min(limit, len(all))]
	}
	return all, nil
}

// WorkflowResult waits until a run has ended.
func (n *Node) WorkflowResult(ctx context.Context, id string) ([]byte, error) {
	stop := n.wakes(ctx)
	defer stop()
	n.mu.Lock()
	defer n.mu.Unlock()
	const op = "result"
	r, err := n.findRun(ctx, op, id)
	for err == nil && r.status.State != workflow.Finished {
		if err = n.wait(ctx, op, phalanx.ObjectID(id), "the run goes on"); err == nil {
			r, err = n.findRun(ctx, op, id)
		}
	}
	if err != nil {
		return nil, err
	}
	if r.status.Why != "" {
		return nil, &phalanx.Error{Op: op, Object: phalanx.ObjectID(id), Kind: phalanx.ErrFailed, Err: &workflow.RunError{Run: id, Why: r.status.Why}}
	}
	return slices.Clone(r.result), nil
}

// WorkflowCancel ends a run.
func (n *Node) WorkflowCancel(ctx context.Context, id, cause string) error {
	return n.changeRun(ctx, "cancel", id, func(r *run) error {
		n.endRun(r, nil, "it was canceled: "+cause)
		return nil
	})
}

// WorkflowResume goes on with a run.
func (n *Node) WorkflowResume(ctx context.Context, id string, _ ...workflow.ResumeOption) error {
	return n.changeRun(ctx, "resume", id, func(r *run) error {
		r.status.State, r.status.Why, r.status.Lacks, r.status.Ready, r.status.Running = workflow.Open, "", nil, 0, 1
		r.status.Lost = nil
		return nil
	})
}

// LoseOutput has a run wait for a Resume that accepts the loss of an output.
func (n *Node) LoseOutput(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := &n.runs[id].status
	s.State, s.Why, s.Running, s.Lost = workflow.Waiting, "the output of draw is lost", 0, []string{"draw"}
}

// WorkflowHistory tells that the task of a run has begun, and how it has ended.
func (n *Node) WorkflowHistory(ctx context.Context, id string) iter.Seq2[workflow.Happened, error] {
	return func(yield func(workflow.Happened, error) bool) {
		st, err := n.looksAt(ctx, "history", id)
		if err != nil {
			yield(workflow.Happened{}, err)
			return
		}
		if yield(workflow.Happened{Number: 1, At: time.Second, Epoch: 2, What: "begun", Task: "held"}, nil) && st.State == workflow.Finished {
			_ = yield(workflow.Happened{Number: 2, At: 3 * time.Second, Epoch: 2, What: "ended", Task: "held"}, nil) &&
				yield(workflow.Happened{Number: 2, At: 3 * time.Second, Epoch: 2, What: "closed", Text: st.Why}, nil)
		}
	}
}

// WorkflowGraph describes the task of a run.
func (n *Node) WorkflowGraph(ctx context.Context, id string) (*workflow.Description, error) {
	st, err := n.looksAt(ctx, "graph", id)
	if err != nil {
		return nil, err
	}
	t := workflow.TaskDescription{Name: "held", Runs: "held@1", Checkpoint: "async", Effect: "none", State: "running", Attempts: 2, Node: "n1#1", Why: "its node has left"}
	if st.State == workflow.Finished {
		t.State, t.Node, t.Why = "saved", "", ""
	}
	return &workflow.Description{Tasks: []workflow.TaskDescription{t}}, nil
}

// WorkflowLedger has three disks, of which one is away, and a spare one.
func (n *Node) WorkflowLedger(ctx context.Context) (workflow.LedgerInfo, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.Fail != nil {
		return workflow.LedgerInfo{}, n.Fail
	}
	if err := ended(ctx, "ledger", "", "the context had ended before the call"); err != nil {
		return workflow.LedgerInfo{}, err
	}
	return workflow.LedgerInfo{Leader: "n1#1", Epoch: 7, Disks: []workflow.LedgerDisk{
		{Disk: "a1", Node: "n1#1", Address: "10.0.0.1:7000", Host: "one", Holds: true, Leads: true},
		{Disk: "b2", Node: "n2#2", Address: "10.0.0.2:7000", Host: "two", Holds: true, Silent: 100 * time.Millisecond},
		{Disk: "c3", Address: "10.0.0.3:7000", Holds: true, Silent: 130 * time.Second},
		{Disk: "d4", Node: "n4#4", Address: "10.0.0.4:7000", Host: "four", Temporary: true, Silent: 90 * time.Millisecond}}}, nil
}

func (n *Node) looksAt(ctx context.Context, op, id string) (workflow.Status, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	r, err := n.findRun(ctx, op, id)
	if err != nil {
		return workflow.Status{}, err
	}
	return r.status, nil
}

// WorkflowSignal keeps the first signal of each name.
func (n *Node) WorkflowSignal(ctx context.Context, id, name, key string, bytes []byte) error {
	return n.changeRun(ctx, "signal", id, func(r *run) error {
		if old, has := r.keys[name]; has {
			if old != key {
				return fail("signal", phalanx.ObjectID(id), phalanx.ErrExists, fmt.Sprintf("another signal %s has come before", name))
			}
			return nil
		}
		r.keys[name] = key
		n.Took = append(n.Took, fmt.Sprintf("%s %s %s %q", id, name, key, bytes))
		return nil
	})
}

// WorkflowForget deletes a run that has ended.
func (n *Node) WorkflowForget(ctx context.Context, id string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	r, err := n.findRun(ctx, "forget", id)
	if err != nil {
		return err
	}
	if r.status.State != workflow.Finished {
		return fail("forget", phalanx.ObjectID(id), phalanx.ErrInvalid, fmt.Sprintf("run %q has not ended: cancel it before", id))
	}
	r.status.State, r.status.Why, r.result = workflow.Forgotten, "", nil
	return nil
}
