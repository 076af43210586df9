package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"

	"github.com/phalanx-go/phalanx/bench/workflows/load"
)

// steps are the arguments of a run that may be killed.
type steps struct {
	Tasks int
	Diary load.Diary
}

func dbosChain(ctx dbos.DBOSContext, n int) (int, error) {
	total := 0
	for range n {
		next, err := dbos.RunAsStep(ctx, func(context.Context) (int, error) { return total + 1, nil })
		if err != nil {
			return 0, err
		}
		total = next
	}
	return total, nil
}

func dbosPass(ctx dbos.DBOSContext, size int) (int, error) {
	b, err := dbos.RunAsStep(ctx, func(context.Context) ([]byte, error) { return make([]byte, size), nil })
	if err != nil {
		return 0, err
	}
	return dbos.RunAsStep(ctx, func(context.Context) (int, error) { return len(b), nil })
}

func dbosSteps(ctx dbos.DBOSContext, s steps) (int, error) {
	for i := range s.Tasks {
		if _, err := dbos.RunAsStep(ctx, func(ctx context.Context) (int, error) { return i, load.Step(ctx, s.Diary, i) }); err != nil {
			return 0, err
		}
	}
	return s.Tasks, nil
}

// dbosEngine is DBOS Transact. Runs go on when it starts.
type dbosEngine struct{ ctx dbos.DBOSContext }

func startDBOS(ctx context.Context, dir string) (engine, error) {
	c, err := dbos.NewDBOSContext(ctx, dbos.Config{AppName: "bench", DatabaseURL: databaseURL(dir), ApplicationVersion: "1", ExecutorID: "1",
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		return nil, err
	}
	dbos.RegisterWorkflow(c, dbosChain)
	dbos.RegisterWorkflow(c, dbosPass)
	dbos.RegisterWorkflow(c, dbosSteps)
	return dbosEngine{c}, dbos.Launch(c)
}

func (e dbosEngine) close() error {
	dbos.Shutdown(e.ctx, 5*time.Second)
	return nil
}

func (e dbosEngine) Chain(_ context.Context, id string, n int) error {
	return dbosEnd(e.ctx, dbosChain, n, id, n)
}

func (e dbosEngine) Pass(_ context.Context, id string, size int) error {
	return dbosEnd(e.ctx, dbosPass, size, id, size)
}

func (e dbosEngine) steps(_ context.Context, id string, n int, d load.Diary) error {
	return dbosEnd(e.ctx, dbosSteps, steps{n, d}, id, n)
}

func dbosEnd[P any](ctx dbos.DBOSContext, w dbos.Workflow[P, int], in P, id string, want int) error {
	r, err := dbos.RunWorkflow(ctx, w, in, dbos.WithWorkflowID(id))
	if err != nil {
		return err
	}
	if got, err := r.GetResult(); err != nil || got != want {
		return fmt.Errorf("run %s returns %d (%w), want %d", id, got, err, want)
	}
	return nil
}
