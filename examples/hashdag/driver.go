package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/children"
	"github.com/phalanx-go/phalanx/workflow"
)

// disks is how many workers have folders.
const disks = 3

// result is how a run went.
type result struct {
	Hash     string  `json:"hash"`
	Tasks    int     `json:"tasks"`
	Attempts int     `json:"attempts"`
	Kills    int     `json:"kills"`
	Seconds  float64 `json:"seconds"`
}

// worker is a worker process as the driver sees it.
type worker struct {
	*children.Child
	settings
	control string // its address
}

// driver starts workers, and starts those again that die.
type driver struct {
	workers []*worker
	died    chan *worker
	in      chan joined
	kills   int
}

// run is the whole example.
func run(ctx context.Context, out io.Writer, o options) (r result, err error) {
	if o.tasks < 1 || o.workers < disks || o.every < 0 || o.every == 1 {
		return r, fmt.Errorf("it takes a task, %d workers, and an attempt that does not kill its process", disks)
	}
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "hashdag"); err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.dir)) }()
	}
	world := outside{Dir: o.dir, Every: o.every}
	if err := os.MkdirAll(world.effects(), 0o755); err != nil {
		return r, err
	}
	d := &driver{died: make(chan *worker, o.workers), in: make(chan joined, o.workers)}
	defer d.end()
	for i := range o.workers {
		s := settings{Name: fmt.Sprint("w", i+1), Outside: world}
		if i < disks {
			s.Dir = filepath.Join(o.dir, s.Name)
		}
		w := &worker{settings: s}
		d.workers = append(d.workers, w)
		if err := d.start(w); err != nil {
			return r, err
		}
		select {
		case a := <-d.in:
			w.control, w.Control = a.Control, a.port()
		case <-w.Done():
			return r, fmt.Errorf("%s ends: %s", w.Name, children.How(w.Err()))
		case <-ctx.Done():
			return r, fmt.Errorf("%s does not join: %w", w.Name, ctx.Err())
		}
	}
	log := logrus.New()
	log.SetOutput(io.Discard)
	node, err := cluster.Join(ctx, cluster.Config{Name: "driver", Seeds: d.addresses(nil), Logger: log, Services: []cluster.Service{workflow.Settings{}.Service()}})
	if err != nil {
		return r, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = node.Leave(ctx) // the others may all be gone
	}()
	reads := edges(o.tasks, o.seed)
	fmt.Fprintf(out, "%d tasks on %d worker processes", o.tasks, o.workers)
	if o.every > 0 {
		fmt.Fprintf(out, "; attempts %d, %d … kill theirs", o.every, 2*o.every)
	}
	fmt.Fprintln(out)
	begin := time.Now()
	w, err := workflow.Start(ctx, node, "hashdag", dag(reads))
	if err != nil {
		return r, err
	}
	if r.Hash, err = d.await(ctx, out, w); err != nil {
		return r, err
	}
	r.Seconds = time.Since(begin).Seconds()
	r.Tasks, r.Kills = o.tasks, d.kills
	if r.Attempts, err = world.count(); err != nil {
		return r, err
	}
	sums := plain(reads)
	if want := sums[o.tasks-1]; r.Hash != want {
		return r, fmt.Errorf("the run has made %s, a plain one makes %s", r.Hash, want)
	}
	if err := world.check(sums); err != nil {
		return r, err
	}
	fmt.Fprintf(out, "%s after %.1f s: %d attempts, %d processes killed, each effect once, the hash of a plain run\n", r.Hash[:16], r.Seconds, r.Attempts, r.Kills)
	return r, nil
}

// await waits for the run's result, and starts workers again meanwhile.
func (d *driver) await(ctx context.Context, out io.Writer, run workflow.Run[string]) (string, error) {
	type answer struct {
		hash string
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		hash, err := run.Result(ctx)
		answers <- answer{hash, err}
	}()
	for {
		select {
		case a := <-answers:
			return a.hash, a.err
		case w := <-d.died:
			d.kills++
			fmt.Fprintf(out, "%s is dead (%s), and starts again\n", w.Name, children.How(w.Err()))
			if err := d.start(w); err != nil {
				return "", err
			}
		case <-d.in: // again
		}
	}
}

// start starts a worker, which joins.
func (d *driver) start(w *worker) error {
	w.Seeds = d.addresses(w)
	text, err := json.Marshal(w.settings)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), workerVar+"="+string(text))
	cmd.Stderr = os.Stderr
	child, err := children.Talk(cmd, func(j joined) { d.in <- j })
	if err != nil {
		return err
	}
	w.Child = child
	go func() {
		<-child.Done()
		d.died <- w
	}()
	return nil
}

// addresses returns where the other workers are, or have been.
func (d *driver) addresses(but *worker) (all []string) {
	for _, w := range d.workers {
		if w != but && w.control != "" {
			all = append(all, w.control)
		}
	}
	slices.Sort(all)
	return all
}

func (d *driver) end() {
	for _, w := range d.workers {
		if w.Child != nil {
			w.Abandon()
			<-w.Done()
		}
	}
}
