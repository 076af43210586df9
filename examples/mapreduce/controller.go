package main

import (
	"context"
	"fmt"
	"slices"
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
	index   map[string]int // of workers, by their names
	knee    bool
	began   time.Time

	mu    sync.Mutex
	tasks []task // of the phase
	who   *scheduler
	stats phase
}

// phase is how a phase went. Its times are in seconds since it began.
type phase struct {
	Name       string  `json:"name"`
	Tasks      int     `json:"tasks"`
	Respawned  int     `json:"respawned"`    // tasks of which another worker got a copy
	Copies     int     `json:"copies"`       // that were given
	KneeAt     float64 `json:"knee_at"`      // when the first knee was found that led to copies; 0: none was
	DoneAtKnee int     `json:"done_at_knee"` // tasks that were done by then
	Seconds    float64 `json:"seconds"`
}

// newController starts workers on nodes, in turn.
func newController(ctx context.Context, nodes []*cluster.Node, workers int, knee bool) (*controller, error) {
	c := &controller{nodes: nodes, knee: knee, began: time.Now(), index: map[string]int{}, who: newScheduler(workers)}
	for i := range workers {
		pid, err := nodes[0].SpawnOn(ctx, nodes[i%len(nodes)].ID(), workerName(i), "")
		if err != nil {
			return nil, err
		}
		c.workers = append(c.workers, pid)
		c.index[workerName(i)] = i
	}
	return c, nil
}

func workerName(i int) string { return fmt.Sprint("worker-", i+1) }

// phase has all tasks done.
func (c *controller) phase(ctx context.Context, name string, tasks []task) (phase, error) {
	const self = "controller"
	labels := make([]string, len(tasks))
	for i, t := range tasks {
		labels[i] = t.Label
	}
	cfg := barrier.Config{Max: len(tasks) + 1, Late: barrier.CatchUp, Expect: append(slices.Clone(labels), self), Callback: true, CallbackTimeout: time.Minute}
	if c.knee {
		cfg.Knee = barrier.Knee{Percent: 50}
	}
	for i := range tasks {
		tasks[i].Phase, tasks[i].Config = name, cfg
	}
	b, err := barrier.Open(c.nodes[0], name, cfg)
	if err != nil {
		return phase{}, err
	}
	c.mu.Lock()
	c.tasks, c.stats = tasks, phase{Name: name, Tasks: len(tasks)}
	c.mu.Unlock()
	began := time.Now()
	stop, err := b.Watch(ctx, barrier.Callbacks{Enter: func(q barrier.Question) bool { return c.asked(q, time.Since(began)) }})
	if err != nil {
		return phase{}, err
	}
	defer stop()
	c.mu.Lock()
	for i, worker := range c.who.share(labels, c.now()) {
		c.send(tasks[i], worker)
	}
	c.mu.Unlock()
	if _, err := b.Enter(ctx, barrier.Entry{Host: self, Label: self}); err != nil {
		return phase{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.Seconds = time.Since(began).Seconds()
	return c.stats, nil
}

func (c *controller) now() time.Duration { return time.Since(c.began) }

func (c *controller) send(t task, worker int) {
	c.nodes[0].System().Root.Send(c.workers[worker], t.message())
}

// asked hears of each task that is done: the other workers that have it need not do it. At a
// knee it does not let the barrier fire: other workers get the tasks that are not done.
func (c *controller) asked(q barrier.Question, since time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if worker, ok := c.index[q.Entry.Host]; ok {
		for _, other := range c.who.finished(q.Entry.Label, worker, c.now()) {
			c.send(task{Label: q.Entry.Label, Drop: true}, other)
		}
	}
	if !q.Knee {
		return q.WouldRelease
	}
	copies := 0
	for _, t := range c.tasks {
		first := len(c.who.holders[t.Label]) == 1
		worker, ok := c.who.again(t.Label, c.now())
		if !ok {
			continue
		}
		c.send(t, worker)
		copies++
		if first {
			c.stats.Respawned++
		}
	}
	if copies > 0 && c.stats.Copies == 0 {
		c.stats.KneeAt, c.stats.DoneAtKnee = since.Seconds(), c.stats.Tasks-len(c.who.holders)
	}
	c.stats.Copies += copies
	return false
}
