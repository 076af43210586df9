package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/group"
	"github.com/phalanx-go/phalanx/internal/children"
)

// process is a worker process as the driver sees it.
type process struct {
	*children.Child
	node    phalanx.NodeID
	control string
	last    report
	done    bool
	dead    bool
}

// driver starts workers, kills one, and looks at what they say. It is no member of the
// cluster.
type driver struct {
	options
	out     io.Writer
	task    task
	workers []*process
	reports chan report

	killed  time.Time
	times   map[string]time.Time // of what the survivors have done, the last of them
	counts  map[string]int
	revoker phalanx.NodeID
	waits   *report // of the worker that waits for another one to come
	grown   bool
}

// run is the whole example.
func run(ctx context.Context, out io.Writer, o options) error {
	if o.workers < 3 || o.batch < o.workers+1 || o.steps < 9 {
		return errors.New("it takes three workers, nine steps, and a sample for each worker")
	}
	d := &driver{options: o, out: out, task: task{Hidden: o.hidden, Steps: o.steps, Batch: o.batch, GrowAt: o.growAt, Seed: o.seed},
		reports: make(chan report, 10_000), times: map[string]time.Time{}, counts: map[string]int{}}
	defer d.end()
	for i := range o.workers {
		if err := d.start(ctx, fmt.Sprint("w", i)); err != nil {
			return err
		}
	}
	var members []group.Member
	for _, p := range d.workers {
		members = append(members, group.Member{Node: p.node})
	}
	for _, p := range d.workers {
		if err := p.Tell(order{Form: members}); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "%d workers train %d parameters\n", o.workers, d.task.model().NumParams())
	for !d.over() {
		select {
		case r := <-d.reports:
			if err := d.heard(ctx, r); err != nil {
				return err
			}
		case <-ctx.Done():
			return fmt.Errorf("it takes too long: %w", ctx.Err())
		}
	}
	return d.verify()
}

// start starts a worker, and waits until it has joined.
func (d *driver) start(ctx context.Context, name string) error {
	s := settings{Name: name, Task: d.task}
	for _, p := range d.workers {
		if !p.dead {
			s.Seed = p.control
			break
		}
	}
	text, err := json.Marshal(s)
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
	joined := make(chan report, 1)
	p := &process{}
	p.Child, err = children.Talk(cmd, func(r report) {
		if r.Event == "joined" {
			joined <- r
		} else {
			d.reports <- r
		}
	})
	if err != nil {
		return err
	}
	d.workers = append(d.workers, p)
	select {
	case r := <-joined:
		p.node, p.control = r.Node, r.Control
		return nil
	case <-p.Done():
		return fmt.Errorf("%s ends: %w", name, p.Err())
	case <-ctx.Done():
		return fmt.Errorf("%s does not join: %w", name, ctx.Err())
	}
}

// heard takes what a worker says.
func (d *driver) heard(ctx context.Context, r report) error {
	p := d.find(r.Node)
	if p == nil || p.dead {
		return nil
	}
	p.last = r
	at := time.Unix(0, r.At)
	switch r.Event {
	case "failed":
		return fmt.Errorf("%s: %s", r.Node.Name(), r.Text)
	case "step":
		return d.stepped(ctx, r, at)
	case "out", "shrunk":
		d.note(r.Event, at)
	case "revoked":
		d.revoker = r.Node
	case "grown":
		if d.grown {
			break
		}
		d.grown = true
		fmt.Fprintf(d.out, "step %d: the group has grown to %d workers\n", r.Step, r.Size)
	case "done":
		p.done = true
	}
	return nil
}

// note takes the time of something that all survivors do, the last of them.
func (d *driver) note(what string, at time.Time) {
	if d.killed.IsZero() {
		return
	}
	if d.counts[what]++; d.counts[what] <= d.options.workers-1 && at.After(d.times[what]) {
		d.times[what] = at
	}
}

func (d *driver) stepped(ctx context.Context, r report, at time.Time) error {
	switch {
	case d.killed.IsZero() && r.Step >= d.killAt:
		return d.kill(r)
	case d.counts["shrunk"] > 0 && d.counts["again"] < d.options.workers-1 && at.After(d.times["shrunk"]):
		if d.note("again", at); d.counts["again"] == d.options.workers-1 {
			d.recovered(r)
		}
	}
	if r.Step == d.growAt && r.Rank == 0 {
		d.waits = &r
	}
	if d.waits != nil && d.counts["again"] == d.options.workers-1 {
		first := *d.waits
		d.waits = nil
		return d.grow(ctx, first)
	}
	return nil
}

// kill kills a worker that is not the one that has reported.
func (d *driver) kill(r report) error {
	victim := d.workers[len(d.workers)/2]
	if victim.node == r.Node {
		victim = d.workers[0]
	}
	fmt.Fprintf(d.out, "step %d: %s is killed\n", r.Step, victim.node.Name())
	victim.dead = true
	d.killed = time.Now()
	return victim.Kill()
}

func (d *driver) recovered(r report) {
	since := func(what string) float64 { return 1000 * d.times[what].Sub(d.killed).Seconds() }
	fmt.Fprintf(d.out, "  %s has noticed, and has revoked the group\n", d.revoker.Name())
	fmt.Fprintf(d.out, "  %4.0f ms after the kill all others have left the AllReduce\n", since("out"))
	fmt.Fprintf(d.out, "  %4.0f ms: they have agreed on the last step, and on a group of %d\n", since("shrunk"), r.Size)
	fmt.Fprintf(d.out, "  %4.0f ms: they have made the next step, %d\n", since("again"), r.Step)
}

// grow starts a worker that comes in.
func (d *driver) grow(ctx context.Context, r report) error {
	if err := d.start(ctx, fmt.Sprint("w", len(d.workers))); err != nil {
		return err
	}
	p := d.workers[len(d.workers)-1]
	fmt.Fprintf(d.out, "step %d: %s comes\n", r.Step, p.node.Name())
	if err := p.Tell(order{Await: true}); err != nil {
		return err
	}
	return d.find(r.Node).Tell(order{Newcomer: &group.Member{Node: p.node}})
}

func (d *driver) find(id phalanx.NodeID) *process {
	for _, p := range d.workers {
		if p.node == id {
			return p
		}
	}
	return nil
}

func (d *driver) over() bool {
	for _, p := range d.workers {
		if !p.done && !p.dead {
			return false
		}
	}
	return true
}

// tolerance is by how much an accuracy may differ from that without a kill: sums are
// rounded in another order.
const tolerance = 0.03

// verify checks that all workers have the same, and that it is as good as it would be
// without the kill.
func (d *driver) verify() error {
	var all []report
	for _, p := range d.workers {
		if !p.dead {
			all = append(all, p.last)
		}
	}
	for _, r := range all {
		if r.Step != d.task.Steps || r.Digest != all[0].Digest {
			return fmt.Errorf("%s has made %d steps to weights %x, %s %d to %x", r.Node.Name(), r.Step, r.Digest, all[0].Node.Name(), all[0].Step, all[0].Digest)
		}
	}
	if d.killed.IsZero() || d.counts["again"] != d.options.workers-1 || !d.grown || all[0].Size != d.options.workers {
		return fmt.Errorf("not all of it has happened: %d workers in the end", all[0].Size)
	}
	want, err := d.task.alone()
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "%d workers have the same weights after %d steps: test accuracy %.3f; without the kill %.3f\n", len(all), d.task.Steps, all[0].Accuracy, want)
	if math.Abs(all[0].Accuracy-want) > tolerance {
		return fmt.Errorf("the accuracy is %.3f, and not %.3f", all[0].Accuracy, want)
	}
	return nil
}

// end ends all workers, one after the other.
func (d *driver) end() {
	defer close(d.reports)
	go func() {
		for range d.reports { // a worker cannot end while nobody hears it
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for _, p := range d.workers {
		p.Abandon()
		_ = p.Wait(ctx) // kills it in the end
	}
}
