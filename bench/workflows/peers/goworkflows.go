package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/cschleiden/go-workflows/backend"
	"github.com/cschleiden/go-workflows/backend/sqlite"
	"github.com/cschleiden/go-workflows/client"
	"github.com/cschleiden/go-workflows/worker"
	"github.com/cschleiden/go-workflows/workflow"

	"github.com/phalanx-go/phalanx/bench/workflows/load"
)

func goAdd(_ context.Context, n int) (int, error) { return n + 1, nil }

func goMake(_ context.Context, size int) ([]byte, error) { return make([]byte, size), nil }

func goRead(_ context.Context, b []byte) (int, error) { return len(b), nil }

func goStep(ctx context.Context, d load.Diary, task int) (int, error) {
	return task, load.Step(ctx, d, task)
}

func goChain(ctx workflow.Context, n int) (total int, err error) {
	for range n {
		if total, err = workflow.ExecuteActivity[int](ctx, workflow.DefaultActivityOptions, goAdd, total).Get(ctx); err != nil {
			return 0, err
		}
	}
	return total, nil
}

func goPass(ctx workflow.Context, size int) (int, error) {
	b, err := workflow.ExecuteActivity[[]byte](ctx, workflow.DefaultActivityOptions, goMake, size).Get(ctx)
	if err != nil {
		return 0, err
	}
	return workflow.ExecuteActivity[int](ctx, workflow.DefaultActivityOptions, goRead, b).Get(ctx)
}

func goSteps(ctx workflow.Context, s steps) (int, error) {
	for i := range s.Tasks {
		if _, err := workflow.ExecuteActivity[int](ctx, workflow.DefaultActivityOptions, goStep, s.Diary, i).Get(ctx); err != nil {
			return 0, err
		}
	}
	return s.Tasks, nil
}

// goEngine is go-workflows on SQLite, with a write-ahead log and SQLite's default of full syncs. It polls its
// database; by default after 200 ms, which would be all that is measured.
type goEngine struct {
	client *client.Client
	worker *worker.Worker
	stop   context.CancelFunc
	db     interface{ Close() error }
	file   string // has the last run that this process, or one before, has started
}

func startGoWorkflows(ctx context.Context, dir string) (engine, error) {
	ctx, stop := context.WithCancel(ctx)
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	db := sqlite.NewSqliteBackend(filepath.Join(dir, "go-workflows.sqlite"), sqlite.WithBackendOptions(backend.WithLogger(quiet)))
	options := worker.DefaultOptions
	options.WorkflowPollingInterval, options.ActivityPollingInterval = time.Millisecond, time.Millisecond
	w := worker.New(db, &options)
	err := errors.Join(w.RegisterWorkflow(goChain), w.RegisterWorkflow(goPass), w.RegisterWorkflow(goSteps),
		w.RegisterActivity(goAdd), w.RegisterActivity(goMake), w.RegisterActivity(goRead), w.RegisterActivity(goStep))
	if err == nil {
		err = w.Start(ctx)
	}
	if err != nil {
		stop()
		return nil, err
	}
	return &goEngine{client.New(db), w, stop, db, filepath.Join(dir, "run.json")}, nil
}

func (e *goEngine) close() error {
	e.stop()
	return errors.Join(e.worker.WaitForCompletion(), e.db.Close())
}

func (e *goEngine) Chain(ctx context.Context, id string, n int) error {
	return e.end(ctx, id, n, goChain, n)
}

func (e *goEngine) Pass(ctx context.Context, id string, size int) error {
	return e.end(ctx, id, size, goPass, size)
}

func (e *goEngine) steps(ctx context.Context, id string, n int, d load.Diary) error {
	r, err := e.client.CreateWorkflowInstance(ctx, client.WorkflowInstanceOptions{InstanceID: id}, goSteps, steps{n, d})
	var bytes []byte
	switch {
	case errors.Is(err, backend.ErrInstanceAlreadyExists): // a process before has started it
		if bytes, err = os.ReadFile(e.file); err == nil {
			err = json.Unmarshal(bytes, &r)
		}
	case err == nil:
		if bytes, err = json.Marshal(r); err == nil {
			err = os.WriteFile(e.file, bytes, 0o644)
		}
	}
	if err != nil {
		return err
	}
	return e.client.WaitForWorkflowInstance(ctx, r, patience)
}

// patience is how long a run may take.
const patience = 10 * time.Minute

func (e *goEngine) end(ctx context.Context, id string, want int, w workflow.Workflow, args ...any) error {
	r, err := e.client.CreateWorkflowInstance(ctx, client.WorkflowInstanceOptions{InstanceID: id}, w, args...)
	if err != nil {
		return err
	}
	if got, err := client.GetWorkflowResult[int](ctx, e.client, r, patience); err != nil || got != want {
		return fmt.Errorf("run %s returns %d (%w), want %d", id, got, err, want)
	}
	return nil
}
