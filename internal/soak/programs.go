package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/hashdag"
	"github.com/phalanx-go/phalanx/internal/reservation"
	"github.com/phalanx-go/phalanx/workflow"
)

// program is a run that the driver has nodes start and look at: hashes of tasks at random, a trip, or a medley.
type program struct {
	ID      string
	Tasks   int                // of the hashes
	Seed    uint64             // of their graph
	Version int                // of their task
	Trip    *reservation.Trip  `json:",omitempty"`
	Stage   int                // of the trip
	Medley  *medley            `json:",omitempty"`
	With    *workflow.Function `json:",omitempty"` // of a resume: takes the place of another version
}

// runState is what a node says of runs.
type runState struct {
	UID    string               `json:",omitempty"`
	Result json.RawMessage      `json:",omitempty"`
	Status *workflow.Status     `json:",omitempty"`
	Runs   []string             `json:",omitempty"` // that are not forgotten, with their states
	Ledger *workflow.LedgerInfo `json:",omitempty"`
}

// world is what the tasks see outside of the cluster, which no fault changes.
type world struct {
	hashdag.Outside
	Trips reservation.Outside
}

// registry returns the tasks of a node: those of trips, and the hash in some versions.
func (w world) registry(versions ...int) *workflow.Registry {
	tasks := append(w.Trips.All(), arrayTask, sumTask, beginTally, addTally, readTally)
	for _, v := range versions {
		tasks = append(tasks, w.Task(v))
	}
	return workflow.Tasks(tasks...)
}

// run carries out an order about a run.
func (s *server) run(ctx context.Context, do string, p program, is *runState) (err error) {
	switch do {
	case "start", "await":
		if p.Medley != nil {
			return follow(ctx, s.node, do, p.ID, p.Medley.workflow, is)
		}
		if p.Trip == nil {
			return follow(ctx, s.node, do, p.ID, func() workflow.Step[hashdag.Made] { return hashdag.Workflow(hashdag.Edges(p.Tasks, p.Seed), p.Version) }, is)
		}
		flow := func() workflow.Step[reservation.Booking] {
			return reservation.Stages[p.Stage].Flow(s.world.Trips.Program(), *p.Trip)
		}
		return follow(ctx, s.node, do, p.ID, flow, is, workflow.WithTasks(s.world.Trips.Tasks()))
	case "look":
		status, err := workflow.StatusOf(ctx, s.node, p.ID)
		is.Status = &status
		return err
	case "signal":
		return workflow.Signal(ctx, s.node, p.ID, medleySignal, p.ID, fmt.Appendf(nil, "%q", medleySignal))
	case "resume":
		var options []workflow.ResumeOption
		if p.With != nil {
			options = append(options, workflow.WithVersions(*p.With))
		}
		return workflow.Resume(ctx, s.node, p.ID, options...)
	case "forget":
		return workflow.Forget(ctx, s.node, p.ID)
	case "disks":
		l, err := workflow.Ledger(ctx, s.node)
		is.Ledger = &l
		return err
	case "runs":
		for after := ""; ; {
			some, err := workflow.List(ctx, s.node, "", after, 0)
			if err != nil || len(some) == 0 {
				return err
			}
			for _, r := range some {
				if after = r.ID; r.State != workflow.Forgotten {
					is.Runs = append(is.Runs, fmt.Sprintf("%s: %v %s", r.ID, r.State, r.Why))
				}
			}
		}
	}
	return &phalanx.Error{Kind: phalanx.ErrInvalid, Err: errors.New("there is no order " + do)}
}

// follow starts a run, or waits for its result.
func follow[R any](ctx context.Context, n *cluster.Node, do, id string, flow func() workflow.Step[R], is *runState, options ...workflow.StartOption) error {
	if do == "start" {
		r, err := workflow.Start(ctx, n, id, flow(), options...)
		if err == nil {
			is.UID = r.UID()
		}
		return err
	}
	r, err := workflow.Attach[R](ctx, n, id)
	if err != nil {
		return err
	}
	result, err := r.Result(ctx)
	if err == nil {
		is.Result, err = json.Marshal(result)
	}
	return err
}
