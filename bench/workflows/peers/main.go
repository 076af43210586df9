// Peers measures other systems that run workflows, for bench/workflows, which starts it. It is a module of its
// own, so that nothing of Phalanx depends on them.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/phalanx-go/phalanx/bench/workflows/load"
)

// engine is a system in this process.
type engine interface {
	load.System
	// steps runs, or goes on with, a chain of n tasks that each call load.Step, and waits for its end.
	steps(ctx context.Context, id string, n int, d load.Diary) error
	close() error
}

// start starts the engine of a system. Its storage is in dir, and may have runs of a process before.
func start(ctx context.Context, system, dir string) (engine, error) {
	switch system {
	case "dbos":
		return startDBOS(ctx, dir)
	case "go-workflows":
		return startGoWorkflows(ctx, dir)
	}
	return nil, fmt.Errorf("there is no system %q", system)
}

func main() {
	log.SetFlags(0)
	var err error
	if as := os.Getenv(workerVar); as != "" {
		err = beWorker(as)
	} else {
		err = measure(os.Getenv(load.PointVar))
	}
	if err != nil {
		log.Fatal(err)
	}
}

func measure(text string) (err error) {
	var p load.Point
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return fmt.Errorf("run bench/workflows --peers, which starts this program: %w", err)
	}
	ctx := context.Background()
	if p.System == "dbos" {
		db, err := startPostgres(p.Dir)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.stop()) }()
	}
	if p.Part == load.Killed {
		p.Samples, err = load.MeasureKilled(ctx, &restarted{p: p}, p.Dir, p.Rounds)
	} else {
		p.Samples, err = measureHere(ctx, p)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(p)
}

func measureHere(ctx context.Context, p load.Point) (s load.Samples, err error) {
	part, err := load.Find(p.Part)
	if err != nil {
		return s, err
	}
	e, err := start(ctx, p.System, p.Dir)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	return load.Measure(ctx, e, part, p.Lasts)
}
