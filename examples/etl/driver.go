package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/phalanx-go/phalanx/examples/internal/example"
	"github.com/phalanx-go/phalanx/examples/internal/workers"
	"github.com/phalanx-go/phalanx/workflow"
)

// disks is how many workers have folders.
const disks = 3

// measured is what a run has cost.
type measured struct {
	took    time.Duration
	network uint64 // bytes of objects that nodes have received
	copied  int64  // bytes of rows that consumers were given as copies
}

// driver starts runs, and checks what they make.
type driver struct {
	options
	*workers.Crew
	out  io.Writer
	rows []uint64
	took map[string]time.Duration // by way and consumers: the median
}

// run is the whole example.
func run(ctx context.Context, out io.Writer, o options) (err error) {
	if o.workers < disks || o.megabytes < 1 || o.runs < 1 || len(o.consumers) == 0 || slices.Min(o.consumers) < 1 {
		return fmt.Errorf("it takes %d workers, a MB of rows, a run, and a consumer", disks)
	}
	world := outside{Dir: o.dir}
	out = example.Output(out)
	crew, err := workers.Start(ctx, workers.Config{Workers: o.workers, Disks: disks, Dir: o.dir, Value: world, Died: workers.Tell(out)})
	if err != nil {
		return err
	}
	defer crew.Close()
	d := &driver{options: o, Crew: crew, out: out, rows: rows(o.megabytes << 20 / 8), took: map[string]time.Duration{}}
	if err := d.table(crew.Context()); err != nil {
		return err
	}
	return d.kill(crew.Context(), world)
}

// table runs the workflow with more and more consumers, by Ref and by value.
func (d *driver) table(ctx context.Context) error {
	fmt.Fprintf(d.out, "one producer of %d MB, on %d worker processes; median of %d\n", d.megabytes, d.options.workers, d.runs)
	w := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "consumers\trows go\tseconds\tMB over the network\tMB copied\t")
	for _, n := range d.consumers {
		for _, way := range []struct {
			name string
			flow func(n, consumers, dies int) workflow.Step[[]counted]
		}{{"by Ref", byRef}, {"by value", byValue}} {
			var all []measured
			for i := range d.runs {
				m, err := d.measure(ctx, fmt.Sprintf("%s/%d/%d", way.name, n, i), way.flow(len(d.rows), n, -1), n)
				if err != nil {
					return err
				}
				all = append(all, m)
			}
			slices.SortFunc(all, func(a, b measured) int { return int(a.took - b.took) })
			m := all[len(all)/2]
			d.took[fmt.Sprint(way.name, " ", n)] = m.took
			fmt.Fprintf(w, "%d\t%s\t%.3f\t%.1f\t%.1f\t\n", n, way.name, m.took.Seconds(), float64(m.network)/(1<<20), float64(m.copied)/(1<<20))
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	least, most := slices.Min(d.consumers), slices.Max(d.consumers)
	for _, way := range []string{"by Ref", "by value"} {
		fmt.Fprintf(d.out, "%s, %d consumers take %.1f times as long as %d\n", way, most, float64(d.took[fmt.Sprint(way, " ", most)])/float64(d.took[fmt.Sprint(way, " ", least)]), least)
	}
	return nil
}

// measure runs a workflow and checks its result.
func (d *driver) measure(ctx context.Context, id string, flow workflow.Step[[]counted], consumers int) (m measured, err error) {
	before, err := d.Bytes()
	if err != nil {
		return m, err
	}
	all, took, err := d.do(ctx, id, flow, consumers)
	if err != nil {
		return m, err
	}
	after, err := d.Bytes()
	if err != nil {
		return m, err
	}
	m = measured{took: took, network: after - min(before, after)} // a process that has died has counted anew
	for _, c := range all {
		m.copied += c.Copied
	}
	return m, nil
}

// do runs a workflow, checks its result, and forgets the run.
func (d *driver) do(ctx context.Context, id string, flow workflow.Step[[]counted], consumers int) ([]counted, time.Duration, error) {
	begin := time.Now()
	r, err := workflow.Start(ctx, d.Node(), id, flow, workflow.WithTasks(outside{}.tasks()))
	if err != nil {
		return nil, 0, err
	}
	all, err := r.Result(ctx)
	if err != nil {
		return nil, 0, err
	}
	took := time.Since(begin)
	if err := d.check(id, all, consumers); err != nil {
		return nil, 0, err
	}
	return all, took, workflow.Forget(ctx, d.Node(), id)
}

// check compares what the consumers have made with what they should have.
func (d *driver) check(id string, all []counted, consumers int) error {
	if len(all) != consumers {
		return fmt.Errorf("%s has results of %d consumers, not %d", id, len(all), consumers)
	}
	for i, c := range all {
		if want, _ := sample(d.rows, i, func() error { return nil }); c.Sum != want {
			return fmt.Errorf("%s: consumer %d has made %d, not %d", id, i, c.Sum, want)
		}
	}
	return nil
}

// kill runs the workflow once more, and one of the consumers kills its process.
func (d *driver) kill(ctx context.Context, world outside) error {
	n := slices.Max(d.consumers)
	before := d.Deaths()
	_, took, err := d.do(ctx, "kill", byRef(len(d.rows), n, n/2), n)
	if err != nil {
		return err
	}
	if _, err := os.Stat(world.killed()); err != nil || d.Deaths() == before {
		return fmt.Errorf("no consumer was killed: %d processes have died (%w)", d.Deaths()-before, err)
	}
	fmt.Fprintf(d.out, "by Ref, %d consumers, and the process of one is killed: %.3f s, the same result\n", n, took.Seconds())
	return nil
}
