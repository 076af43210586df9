package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/phalanx-go/phalanx/examples/internal/example"
	"github.com/phalanx-go/phalanx/examples/internal/workers"
	"github.com/phalanx-go/phalanx/internal/hashdag"
	"github.com/phalanx-go/phalanx/workflow"
)

// disks is how many workers have folders.
const disks = 3

// version is that of the task.
const version = 1

// result is how a run went.
type result struct {
	Hash     string  `json:"hash"`
	Tasks    int     `json:"tasks"`
	Attempts int     `json:"attempts"`
	Kills    int     `json:"kills"`
	Seconds  float64 `json:"seconds"`
}

func tasks(o hashdag.Outside) *workflow.Registry { return workflow.Tasks(o.Task(version)) }

// run is the whole example.
func run(ctx context.Context, out io.Writer, o options) (r result, err error) {
	if o.tasks < 1 || o.workers < disks || o.every < 0 || o.every == 1 {
		return r, fmt.Errorf("it takes a task, %d workers, and an attempt that does not kill its process", disks)
	}
	world, err := hashdag.NewOutside(o.dir, o.every)
	if err != nil {
		return r, err
	}
	out = example.Output(out)
	crew, err := workers.Start(ctx, workers.Config{Workers: o.workers, Disks: disks, Slots: 1, Dir: o.dir, Value: world, Died: workers.Tell(out)})
	if err != nil {
		return r, err
	}
	defer crew.Close()
	ctx = crew.Context()
	kills := ""
	if o.every > 0 {
		kills = fmt.Sprintf("; attempts %d, %d … kill theirs", o.every, 2*o.every)
	}
	fmt.Fprintf(out, "%d tasks on %d worker processes%s\n", o.tasks, o.workers, kills)
	reads := hashdag.Edges(o.tasks, o.seed)
	begin := time.Now()
	w, err := workflow.Start(ctx, crew.Node(), "hashdag", hashdag.Workflow(reads, version))
	if err != nil {
		return r, err
	}
	made, err := w.Result(ctx)
	if err != nil {
		return r, err
	}
	r.Hash = made.Sum
	r.Seconds = time.Since(begin).Seconds()
	r.Tasks, r.Kills = o.tasks, crew.Deaths()
	if r.Attempts, err = world.Count(); err != nil {
		return r, err
	}
	sums := hashdag.Plain(reads)
	if want := sums[o.tasks-1]; r.Hash != want {
		return r, fmt.Errorf("the run has made %s, a plain one makes %s", r.Hash, want)
	}
	if err := world.Check(w.UID(), sums); err != nil {
		return r, err
	}
	fmt.Fprintf(out, "%s after %.1f s: %d attempts, %d processes killed, each effect once, the hash of a plain run\n", r.Hash[:16], r.Seconds, r.Attempts, r.Kills)
	return r, nil
}
