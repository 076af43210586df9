package main

import (
	"context"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/cluster"
)

// controller gives tasks to workers.
type controller struct {
	nodes   []*cluster.Node
	workers []*actor.PID
	knee    bool

	mu    sync.Mutex
	tasks []task         // of the phase
	who   map[string]int // by label: which worker has it
	done  map[string]bool
	slow  map[int]bool // workers whose tasks were given to others
	again int
}

func newController(ctx context.Context, nodes []*cluster.Node, knee bool) (*controller, error) {
	c := &controller{nodes: nodes, knee: knee}
	for _, n := range nodes {
		pid, err := nodes[0].SpawnOn(ctx, n.ID(), "worker", "")
		if err != nil {
			return nil, err
		}
		c.workers = append(c.workers, pid)
	}
	return c, nil
}

// phase has all tasks done, and returns how many were given to another worker.
func (c *controller) phase(ctx context.Context, name string, tasks []task) (again int, err error) {
	cfg := barrier.Config{Max: len(tasks) + 1, Late: barrier.CatchUp}
	for _, t := range tasks {
		cfg.Expect = append(cfg.Expect, t.Label)
	}
	const self = "controller"
	cfg.Expect = append(cfg.Expect, self)
	if c.knee {
		cfg.Knee, cfg.Callback, cfg.CallbackTimeout = barrier.Knee{Percent: 50}, true, time.Minute
	}
	c.mu.Lock()
	c.tasks, c.who, c.done, c.slow, c.again = tasks, map[string]int{}, map[string]bool{}, map[int]bool{}, 0
	for i := range tasks {
		tasks[i].Phase, tasks[i].Config = name, cfg
	}
	c.mu.Unlock()
	b, err := barrier.Open(c.nodes[0], name, cfg)
	if err != nil {
		return 0, err
	}
	if c.knee {
		stop, err := b.Watch(ctx, barrier.Callbacks{Enter: c.asked})
		if err != nil {
			return 0, err
		}
		defer stop()
	}
	c.mu.Lock()
	for i := range tasks { // as many for each
		c.give(tasks[i], i*len(c.workers)/len(tasks))
	}
	c.mu.Unlock()
	if _, err := b.Enter(ctx, barrier.Entry{Host: self, Label: self}); err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.again, nil
}

func (c *controller) give(t task, worker int) {
	c.who[t.Label] = worker
	c.nodes[0].System().Root.Send(c.workers[worker], t.message())
}

// asked hears of each task that is done. At a knee it does not let the barrier fire:
// it gives what is not done to workers that have nothing left to do.
func (c *controller) asked(q barrier.Question) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q.Entry.Label != "" {
		c.done[q.Entry.Label] = true
	}
	if !q.Knee {
		return q.WouldRelease
	}
	for _, t := range c.tasks {
		if !c.done[t.Label] {
			c.slow[c.who[t.Label]] = true
		}
	}
	var idle []int
	for w := range c.workers {
		if !c.slow[w] {
			idle = append(idle, w)
		}
	}
	n := 0
	for _, t := range c.tasks {
		if !c.done[t.Label] && len(idle) > 0 {
			c.give(t, idle[n%len(idle)])
			n++
		}
	}
	c.again += n
	return false
}
