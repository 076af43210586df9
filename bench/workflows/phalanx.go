package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx/bench/workflows/load"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/workflow"
)

// stepArgs are the arguments of a task that may be killed.
type stepArgs struct {
	Task  int
	Diary load.Diary
}

var (
	add     = workflow.Func1("add", 1, func(_ workflow.Context, n int) (int, error) { return n + 1, nil })
	pure    = workflow.Func1("pure", 1, func(_ workflow.Context, n int) (int, error) { return n + 1, nil }).With(workflow.NoEffect)
	produce = workflow.Func1("make", 1, func(_ workflow.Context, size int) ([]byte, error) { return make([]byte, size), nil })
	read    = workflow.Func1("read", 1, func(_ workflow.Context, b []byte) (int, error) { return len(b), nil })
	step    = workflow.Func1("step", 1, func(ctx workflow.Context, a stepArgs) (stepArgs, error) {
		err := load.Step(ctx, a.Diary, a.Task)
		return stepArgs{a.Task + 1, a.Diary}, err
	})
	allTasks = map[string]workflow.AnyTask{"add": add.With(workflow.Idempotent), "pure": pure, "make": produce.With(workflow.Idempotent),
		"read": read.With(workflow.Idempotent), "step": step.With(workflow.Idempotent)}
)

// phalanx is a cluster. This process is one of its nodes.
type phalanx struct {
	node    *cluster.Node
	add     workflow.F1[int, int]
	workers []*worker
	dead    []*worker
}

// open starts the cluster of a point. The one that passes large values has two nodes, one for each task. The one whose processes are
// killed has three nodes with disks beside this process.
func open(ctx context.Context, p load.Point) (c *phalanx, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	c = &phalanx{add: add.With(workflow.Idempotent)}
	if strings.HasSuffix(p.System, "-effectless") {
		c.add = pure
	}
	mine := role{Name: "node0", Dir: p.Dir, Tasks: []string{"add", "pure", "make"}}
	theirs := role{Tasks: []string{"add", "pure", "read"}}
	workers := 2
	switch {
	case strings.HasPrefix(p.System, "phalanx-3"):
		theirs.Dir = p.Dir
	case strings.HasPrefix(p.Part, "pass"):
		workers = 1
	default:
		workers = 0
	}
	if p.Part == load.Killed {
		mine = role{Name: "node0"}
		theirs, workers = role{Dir: p.Dir, Tasks: []string{"step"}}, 3
		if strings.HasPrefix(p.System, "phalanx-1") {
			return nil, errors.New("the run stands still until the only disk is back")
		}
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	if c.node, err = mine.join(ctx); err != nil {
		return c, err
	}
	theirs.Seeds = []string{c.node.ControlAddr()}
	for i := range workers {
		theirs.Name = fmt.Sprint("node", i+1)
		w, err := startWorker(ctx, theirs)
		if err != nil {
			return c, err
		}
		c.workers = append(c.workers, w)
	}
	return c, nil
}

func (c *phalanx) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, w := range c.workers {
		_ = w.Kill() // one that has ended already is as good
	}
	if c.node == nil {
		return nil
	}
	if err := c.node.Leave(ctx); err != nil && len(c.workers) == 0 {
		return err
	}
	return nil
}

// Chain is as load.System says.
func (c *phalanx) Chain(ctx context.Context, id string, n int) error {
	s := c.add.Bind(workflow.Value(0))
	for range n - 1 {
		s = c.add.Bind(s)
	}
	return end(ctx, c.node, id, s, n)
}

// Pass is as load.System says.
func (c *phalanx) Pass(ctx context.Context, id string, size int) error {
	return end(ctx, c.node, id, read.With(workflow.Idempotent).Bind(produce.With(workflow.Idempotent).Bind(workflow.Value(size))), size)
}

// end starts a run and waits for its result.
func end(ctx context.Context, n *cluster.Node, id string, s workflow.Step[int], want int) error {
	r, err := workflow.Start(ctx, n, id, s)
	if err != nil {
		return err
	}
	if got, err := r.Result(ctx); err != nil || got != want {
		return fmt.Errorf("run %s returns %d (%w), want %d", id, got, err, want)
	}
	return nil
}

// Begin is as load.Killable says.
func (c *phalanx) Begin(ctx context.Context, id string, n int, d load.Diary) (func(context.Context) error, error) {
	f := step.With(workflow.Idempotent)
	s := f.Bind(workflow.Value(stepArgs{0, d}))
	for range n - 1 {
		s = f.Bind(s)
	}
	r, err := workflow.Start(ctx, c.node, id, s)
	return func(ctx context.Context) error {
		_, err := r.Result(ctx)
		return err
	}, err
}

// Kill is as load.Killable says: others go on.
func (c *phalanx) Kill(pid int) error {
	i := slices.IndexFunc(c.workers, func(w *worker) bool { return w.PID() == pid })
	if i < 0 {
		return fmt.Errorf("process %d is no worker", pid)
	}
	w := c.workers[i]
	c.workers, c.dead = slices.Delete(c.workers, i, i+1), append(c.dead, w)
	return w.Kill()
}

// Mend is as load.Killable says.
func (c *phalanx) Mend(ctx context.Context) error {
	for _, w := range c.dead {
		again, err := startWorker(ctx, w.role)
		if err != nil {
			return err
		}
		c.workers = append(c.workers, again)
	}
	c.dead = nil
	return nil
}
