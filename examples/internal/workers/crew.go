// Package workers runs the tasks of an example on processes of their own, which the example kills. A Crew starts workers,
// copies of the example's own program, and starts those again that die, over their folders and at their addresses.
// The example itself is a node without tasks: Crew.Node.
package workers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/children"
	"github.com/phalanx-go/phalanx/workflow"
)

// voters is how many nodes decide who is in the cluster: two of them may be dead at once.
const voters = 5

// Names of workers begin with these, and have a number behind.
const (
	workerPrefix = "w"
	keeperPrefix = "k" // of those that run no tasks
)

// Config says which workers there are.
type Config struct {
	Workers int                    // that run tasks
	Disks   int                    // workers that have folders, the first ones
	Keepers int                    // further processes, which have folders and run no tasks
	Slots   int                    // attempts that a worker runs at once
	Dir     string                 // has the folders and logs
	Value   any                    // is given to the function of Be; JSON can represent it
	Died    func(name, how string) // is called beside the example, by several goroutines
}

// Tell returns a Config.Died that says on out which workers have died. Out is safe for concurrent use.
func Tell(out io.Writer) func(name, how string) {
	return func(name, how string) { fmt.Fprintf(out, "%s is dead (%s), and starts again\n", name, how) }
}

// Crew is the workers. It is safe for concurrent use.
type Crew struct {
	cfg   Config
	value json.RawMessage
	wait  sync.WaitGroup // for the goroutines that start workers again
	ctx   context.Context
	stop  context.CancelCauseFunc

	mu      sync.Mutex
	node    *cluster.Node // of this process; nil: there is none
	all     []*worker
	deaths  int
	number  uint64
	answers chan counted
}

// worker is a worker as the crew sees it. The crew's lock guards it.
type worker struct {
	settings
	child   *children.Child
	control string // its address, once it has joined
}

// Start starts the workers and joins them. The context is that of the whole example: Failed tells how it ends.
func Start(ctx context.Context, cfg Config) (*Crew, error) {
	if cfg.Disks > cfg.Workers || cfg.Disks+cfg.Keepers == 0 {
		return nil, fmt.Errorf("%d of %d workers have folders, and %d keepers: it takes a folder", cfg.Disks, cfg.Workers, cfg.Keepers)
	}
	value, err := json.Marshal(cfg.Value)
	if err != nil {
		return nil, err
	}
	c := &Crew{cfg: cfg, value: value, answers: make(chan counted, cfg.Workers+cfg.Keepers)}
	c.ctx, c.stop = context.WithCancelCause(ctx)
	for i := range cfg.Keepers {
		c.add(fmt.Sprint(keeperPrefix, i+1), true, true)
	}
	for i := range cfg.Workers {
		c.add(fmt.Sprint(workerPrefix, i+1), i < cfg.Disks, false)
	}
	if err := c.join(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Crew) add(name string, folder, idle bool) {
	s := settings{Name: name, Log: filepath.Join(c.cfg.Dir, name+".log"), Idle: idle, Slots: c.cfg.Slots, Value: c.value}
	if folder {
		s.Dir = filepath.Join(c.cfg.Dir, name)
	}
	c.all = append(c.all, &worker{settings: s})
}

// join starts the first worker, which begins the cluster, then the other keepers, so that the ledger is on their disks,
// then the other workers, and joins them.
func (c *Crew) join() error {
	first := max(c.cfg.Keepers, 1)
	for _, some := range [][]*worker{c.all[:1], c.all[1:first], c.all[first:]} {
		failed := make(chan error, len(some))
		for _, w := range some {
			go func() { failed <- c.start(w) }()
		}
		var err error
		for range some {
			err = errors.Join(err, <-failed)
		}
		if err != nil {
			return err
		}
	}
	return c.enter()
}

// enter has this process join.
func (c *Crew) enter() error {
	log := logrus.New()
	log.SetOutput(io.Discard)
	n, err := cluster.Join(c.ctx, cluster.Config{Name: "driver", Seeds: c.addresses(nil), Logger: log, Services: []cluster.Service{workflow.Service()}})
	if err != nil {
		return fmt.Errorf("this process does not join: %w", err)
	}
	c.mu.Lock()
	c.node = n
	c.mu.Unlock()
	return nil
}

// Node returns the node of this process. After KillAll it is another one.
func (c *Crew) Node() *cluster.Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.node
}

// start starts a worker, and waits until it has joined.
func (c *Crew) start(w *worker) error {
	seeds := c.addresses(w)
	c.mu.Lock()
	w.Seeds = seeds
	text, err := json.Marshal(w.settings)
	c.mu.Unlock()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), variable+"="+string(text))
	cmd.Stderr = os.Stderr
	joined := make(chan said, 1)
	child, err := children.Talk(cmd, func(s said) {
		switch {
		case s.Counted != nil:
			c.answered(*s.Counted)
		case s.Control != "":
			joined <- s
		}
	})
	if err != nil {
		return err
	}
	c.mu.Lock()
	w.child = child
	c.mu.Unlock()
	c.wait.Go(func() { c.attend(w, child) })
	select {
	case s := <-joined:
		c.mu.Lock()
		w.control, w.Control = s.Control, s.port()
		c.mu.Unlock()
		return nil
	case <-child.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		if w.control != "" { // it has been a worker, and attend starts it again
			return nil
		}
		return fmt.Errorf("%s ends: %s", w.Name, children.How(child.Err()))
	case <-c.ctx.Done():
		return fmt.Errorf("%s does not join: %w", w.Name, context.Cause(c.ctx))
	}
}

// attend starts a worker again when it dies.
func (c *Crew) attend(w *worker, child *children.Child) {
	select {
	case <-child.Done():
	case <-c.ctx.Done():
		child.Abandon()
		<-child.Done()
		return
	}
	if c.ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	c.deaths++
	c.mu.Unlock()
	if c.cfg.Died != nil {
		c.cfg.Died(w.Name, children.How(child.Err()))
	}
	if err := c.start(w); err != nil {
		c.stop(fmt.Errorf("%s does not start again: %w", w.Name, err))
	}
}

// addresses returns where the other workers with folders are, or have been. After the death of all they bring the cluster
// back: 10 s later if one has other seeds, as it does not know whether those are in a cluster.
func (c *Crew) addresses(but *worker) (all []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.all {
		if w != but && w.Dir != "" && w.control != "" {
			all = append(all, w.control)
		}
	}
	return all
}

// Context is the context of Start; it ends too if a worker does not start again, and when the crew ends.
func (c *Crew) Context() context.Context { return c.ctx }

// Deaths returns how many processes have died so far.
func (c *Crew) Deaths() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deaths
}

// Names returns the names of all processes.
func (c *Crew) Names() (all []string) {
	for _, w := range c.all {
		all = append(all, w.Name)
	}
	return all
}

// Workers returns the names of the processes that run tasks.
func (c *Crew) Workers() []string { return c.Names()[c.cfg.Keepers:] }

// Kill kills the processes of these names with SIGKILL. They start again.
func (c *Crew) Kill(names ...string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	for _, name := range names {
		for _, w := range c.all {
			if w.Name == name {
				err = errors.Join(err, w.child.Kill())
			}
		}
	}
	return err
}

// KillAll kills all processes with SIGKILL. This process leaves before, so that nobody is left who was in the cluster, and
// nobody waits for it to say that it is in none. It returns when this process is a member again of the cluster that the others
// have brought back.
func (c *Crew) KillAll() error {
	ctx, cancel := context.WithTimeout(c.ctx, leaveWait)
	defer cancel()
	if err := c.Node().Leave(ctx); err != nil {
		return err
	}
	if err := c.Kill(c.Names()...); err != nil {
		return err
	}
	return c.enter()
}

// leaveWait is how long this process may take to leave.
const leaveWait = 10 * time.Second

// countWait is how long a worker may take to answer.
const countWait = 5 * time.Second

// Bytes returns how many bytes of objects the nodes have received from each other, those of this process too. What a
// process had received before it died does not count, nor what one has that does not answer within countWait.
func (c *Crew) Bytes() (sum uint64, err error) {
	c.mu.Lock()
	c.number++
	number, asked := c.number, 0
	for _, w := range c.all {
		if w.child.Tell(count{number}) == nil {
			asked++
		}
	}
	c.mu.Unlock()
	late := time.After(countWait)
	for asked > 0 {
		select {
		case a := <-c.answers:
			if a.Number == number {
				sum += a.Bytes
				asked--
			}
		case <-late:
			asked = 0 // the others have died, or hang
		case <-c.ctx.Done():
			return 0, context.Cause(c.ctx)
		}
	}
	return sum + c.Node().Status().BytesReceived, nil
}

func (c *Crew) answered(a counted) {
	select {
	case c.answers <- a:
	default: // nobody asks any more
	}
}

// Close ends the workers and returns when they have ended.
func (c *Crew) Close() {
	if n := c.Node(); n != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_ = n.Leave(ctx) // the others may all be gone
		cancel()
	}
	c.stop(errors.New("the example is over"))
	c.wait.Wait()
}
