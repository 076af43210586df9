package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/examples/internal/workers"
	"github.com/phalanx-go/phalanx/workflow"
)

const (
	processes = 4 // that run tasks and actors
	keepers   = 3 // whose folders have the ledger, and that run no tasks
)

// driver starts runs, brings about faults, and checks what comes of them.
type driver struct {
	options
	*workers.Crew
	out     io.Writer
	world   outside
	program program
}

// run is the whole example.
func run(ctx context.Context, out io.Writer, o options) (err error) {
	if o.epochs < 3 || o.job.Rounds < 2 || o.job.Hidden < 1 || o.job.Copies < 1 {
		return errors.New("it takes three epochs of two rounds, a hidden unit and the data set")
	}
	d := &driver{options: o, out: out, world: outside{o.dir}}
	d.program = d.world.program("")
	// Workers have folders as well, though the ledger is on the keepers' disks: after the death of all a node without one
	// holds up the others for 10 s.
	if d.Crew, err = workers.Start(ctx, workers.Config{Workers: processes, Disks: processes, Keepers: keepers, Slots: 4, Dir: o.dir, Value: d.world}); err != nil {
		return err
	}
	defer d.Close()
	return d.table(d.Context())
}

// table runs the pipeline in each mode, without a fault and with some.
func (d *driver) table(ctx context.Context) error {
	if err := d.refused(); err != nil {
		return err
	}
	fmt.Fprintf(d.out, "%d epochs of %d steps, on %d processes; seconds\n", d.epochs, d.job.Rounds, processes)
	w := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "mode\tno fault\t")
	for _, f := range faults {
		fmt.Fprintf(w, "%s\t", f)
	}
	fmt.Fprintln(w)
	least := 1.0
	for _, m := range modes {
		fmt.Fprintf(w, "%s\t", m.name)
		for _, f := range append([]fault{""}, faults...) {
			if f != "" && !slices.Contains(d.faulty, m.name) {
				fmt.Fprintf(w, "-\t")
				continue
			}
			took, model, err := d.one(ctx, m, f)
			if err != nil {
				return fmt.Errorf("%s, fault %q: %w", m.name, f, err)
			}
			least = min(least, model.Accuracy)
			fmt.Fprintf(w, "%.2f\t", took.Seconds())
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(d.out, "%d processes killed; each model has made %d steps, and was published once; the least accuracy is %.3f\n", d.Deaths(), d.epochs*d.job.Rounds, least)
	return nil
}

// refused shows that a model which cannot be made again, and is not saved, is not published.
func (d *driver) refused() error {
	no := mode{all: []workflow.Option{workflow.NoCheckpoint}, effect: true}
	_, err := workflow.Check(no.flow(d.program, d.job, d.epochs, ""), d.program.tasks())
	if refusal := (*workflow.CheckError)(nil); !errors.As(err, &refusal) {
		return fmt.Errorf("a workflow that publishes what is not saved is not refused: %w", err)
	}
	fmt.Fprintf(d.out, "NoCkpt does not publish: %v\n", err)
	return nil
}

// one runs the pipeline once, and checks the model.
func (d *driver) one(ctx context.Context, m mode, f fault) (took time.Duration, model made, err error) {
	j := d.job
	j.Name = m.name
	if f != "" {
		j.Name += "-" + string(f)
	}
	flow := m.flow(d.program, j, d.epochs, f)
	begin := time.Now()
	r, err := workflow.Start(ctx, d.Node(), j.Name, flow, workflow.WithTasks(d.program.tasks()))
	if err != nil {
		return 0, model, err
	}
	var acted atomic.Bool
	runs, stop := context.WithCancel(ctx)
	failed := make(chan error, 1)
	go func() {
		err := d.fail(runs, flow, j.Name, r.UID(), f, &acted)
		if err != nil {
			stop() // the run would wait for the fault
		}
		failed <- err
	}()
	model, err = d.result(runs, r)
	took = time.Since(begin)
	stop()
	if err = errors.Join(<-failed, err); err != nil {
		return 0, model, err
	}
	if f != "" && !acted.Load() {
		return 0, model, errors.New("nothing was killed")
	}
	if f == actorLost {
		if _, err := os.Stat(filepath.Join(d.dir, j.Name+".shrunk")); err != nil {
			return 0, model, fmt.Errorf("the trainers have not gone on without the dead ones: %w", err)
		}
	}
	if err := d.check(m, j.Name, model); err != nil {
		return 0, model, err
	}
	return took, model, d.clean(ctx, j.Name)
}

// result waits for a run, whatever becomes of the cluster meanwhile: the handle of a node that is no member any more is replaced.
func (d *driver) result(ctx context.Context, r workflow.Run[made]) (made, error) {
	for {
		m, err := r.Result(ctx)
		if !away(err) || ctx.Err() != nil {
			return m, err
		}
		if again, err := workflow.Attach[made](ctx, d.Node(), r.ID()); err == nil {
			r = again
		} else if !away(err) || ctx.Err() != nil {
			return m, err
		}
	}
}

// away reports whether a call has failed since no controller answers, or as this process is no member.
func away(err error) bool {
	return errors.Is(err, phalanx.ErrUnavailable) || errors.Is(err, phalanx.ErrClosed)
}

// check compares the model with what was published, and looks whether each step was made once.
func (d *driver) check(m mode, name string, model made) error {
	all, err := d.world.published(name)
	switch {
	case err != nil:
		return err
	case model.Steps != d.epochs*d.job.Rounds:
		return fmt.Errorf("the model has made %d steps, not %d", model.Steps, d.epochs*d.job.Rounds)
	case model.Trainers != actors:
		return fmt.Errorf("%d trainers have the model, not %d", model.Trainers, actors)
	case model.Accuracy < d.wanted:
		return fmt.Errorf("the model classifies %.3f of the test samples, not %.3f", model.Accuracy, d.wanted)
	case m.effect && (len(all) != 1 || all[0] != model), !m.effect && len(all) > 0:
		return fmt.Errorf("published is %+v, and the result is %+v", all, model)
	}
	return nil
}

// clean forgets a run, and waits until nothing is left of what its trainers have put. Nodes sweep the run's own objects by and by.
func (d *driver) clean(ctx context.Context, name string) error {
	if err := workflow.Forget(ctx, d.Node(), name); err != nil {
		return err
	}
	late := time.After(cleanWait)
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for {
		left, err := d.Node().List(ctx, objects(name))
		if len(left) == 0 && err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-late:
			return fmt.Errorf("the run has left %v in the store, %v", left, err)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// cleanWait is how long nodes may take to delete what a run has left.
const cleanWait = 10 * time.Second

// fail waits until a process asks for the fault of a run, and brings it about.
func (d *driver) fail(ctx context.Context, flow workflow.AnyStep, name, uid string, f fault, acted *atomic.Bool) error {
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for {
		asks, err := os.ReadFile(d.world.asked(name))
		if err == nil {
			if err := d.kill(ctx, flow, uid, f, string(asks)); err != nil {
				return err
			}
			acted.Store(true)
			return os.WriteFile(d.world.acted(name), nil, 0o644)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (d *driver) kill(ctx context.Context, flow workflow.AnyStep, uid string, f fault, asks string) error {
	if f == clusterFails {
		return d.KillAll()
	}
	victims, err := d.victims(ctx, flow, uid, f, asks)
	if err != nil {
		return err
	}
	return d.Kill(victims...)
}

// victims returns which processes a fault kills; asks is the one that has asked for it.
func (d *driver) victims(ctx context.Context, flow workflow.AnyStep, uid string, f fault, asks string) ([]string, error) {
	switch f {
	case augmentLost, actorLost:
		return []string{asks}, nil
	case ingestLost:
		return d.holders(ctx, flow, uid, "ingest", 0)
	case augmentedLost:
		return d.holders(ctx, flow, uid, "augment", d.epochs/2)
	}
	return nil, fmt.Errorf("no process is killed by the fault %q", f)
}

// holders returns the workers that have the output of a task in memory: of the one that is number n of those that are
// called so. The keepers are not among them: what is saved can be read there.
func (d *driver) holders(ctx context.Context, flow workflow.AnyStep, uid, task string, n int) (names []string, err error) {
	if n > 0 {
		task = fmt.Sprintf("%s#%d", task, n+1)
	}
	all, err := workflow.Describe(flow, d.program.tasks())
	if err != nil {
		return nil, err
	}
	index := slices.IndexFunc(all.Tasks, func(t workflow.TaskDescription) bool { return t.Name == task })
	list, err := d.Node().List(ctx, fmt.Sprintf("wf/%s/%d/", uid, index))
	if err != nil {
		return nil, err
	}
	for _, o := range list {
		s, err := d.Node().Stat(ctx, o.Object)
		if err != nil {
			return nil, err
		}
		for _, h := range s.Holders {
			if name := h.Node.Name(); slices.Contains(d.Workers(), name) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no worker has the output of %s in memory", task)
	}
	return names, nil
}
