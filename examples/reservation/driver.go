package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/examples/internal/workers"
	"github.com/phalanx-go/phalanx/internal/children"
	"github.com/phalanx-go/phalanx/internal/reservation"
	"github.com/phalanx-go/phalanx/workflow"
)

const (
	keepers = 3 // processes with folders, which run no tasks and are not killed
	each    = 4 // hotels, flights and cars
)

// driver is the clients that book trips, and what they were told.
type driver struct {
	options
	*workers.Crew
	out     io.Writer
	world   reservation.Outside
	program reservation.Program
	store   *children.Child

	mu      sync.Mutex
	age     int // of the next client's first attempt
	told    map[string]reservation.Booking
	resumed int // runs that were stuck
}

// run is the whole example.
func run(ctx context.Context, out io.Writer, o options) (err error) {
	if o.workers < 1 || o.trips < 1 || o.killed < 1 || o.clients < 1 || o.seats < 1 || o.every < 2 {
		return errors.New("it takes a worker, a trip with kills and one without, a client, a seat, and an attempt that is not killed")
	}
	d := &driver{options: o, out: out, world: reservation.Outside{Dir: o.dir, Every: o.every}, told: map[string]reservation.Booking{}}
	if err := d.startStore(ctx); err != nil {
		return err
	}
	defer func() {
		d.store.Abandon()
		<-d.store.Done()
	}()
	d.program = d.world.Program()
	// A transaction that waits for a lock keeps its slot. With a slot for each task of each client the one that has the lock goes on.
	slots := o.clients * (each + 1)
	d.Crew, err = workers.Start(ctx, workers.Config{Workers: o.workers, Keepers: keepers, Slots: slots, Dir: o.dir, Value: d.world})
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.book(d.Context()); err != nil {
		return err
	}
	return d.verify(d.Context())
}

// startStore starts the store's process, which outlives all workers.
func (d *driver) startStore(ctx context.Context) error {
	text, err := json.Marshal(setting{each, d.seats})
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), storeVar+"="+string(text))
	cmd.Stderr = os.Stderr
	ready := make(chan string, 1)
	d.store, err = children.Talk(cmd, func(l listening) {
		if l.Address != "" {
			ready <- l.Address
		}
	})
	if err != nil {
		return err
	}
	select {
	case d.world.Store.Address = <-ready:
		return nil
	case <-d.store.Done():
		return fmt.Errorf("the store ends: %s", children.How(d.store.Err()))
	case <-ctx.Done():
		d.store.Abandon()
		<-d.store.Done()
		return fmt.Errorf("the store does not start: %w", ctx.Err())
	}
}

// book has the clients book trips in each stage, first in peace, then while attempts are killed.
func (d *driver) book(ctx context.Context) error {
	fmt.Fprintf(d.out, "%d clients, %d trips in each stage, %d more while every %dth attempt kills its process; ms\n", d.clients, d.trips, d.killed, d.every)
	w := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "stage\tp50\tp99\tkilled: p50\tp99\tprocesses\t")
	for _, s := range reservation.Stages {
		calm, err := d.phase(ctx, s, "calm", d.trips, false)
		if err != nil {
			return err
		}
		before := d.Deaths()
		killed, err := d.phase(ctx, s, "killed", d.killed, true)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\t%.1f\t%.1f\t%.1f\t%.1f\t%d\t%s\n", s.Name, quantile(calm, 0.5), quantile(calm, 0.99), quantile(killed, 0.5), quantile(killed, 0.99), d.Deaths()-before, s.What)
	}
	return w.Flush()
}

// quantile returns a quantile of sorted times in ms.
func quantile(sorted []time.Duration, q float64) float64 {
	return 1000 * sorted[min(len(sorted)-1, int(q*float64(len(sorted))))].Seconds()
}

// phase has the clients book n trips, and returns how long each took, sorted.
func (d *driver) phase(ctx context.Context, s reservation.Stage, name string, n int, kills bool) ([]time.Duration, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := rand.New(rand.NewPCG(d.seed, uint64(n)))
	trips := make(chan reservation.Trip, n)
	for i := range n {
		d.age++
		trips <- reservation.Trip{ID: fmt.Sprintf("%s/%s/%d", s.Name, name, i), Age: d.age, Rows: reservation.RowsOf(r, each), Kills: kills}
	}
	close(trips)
	var all []time.Duration
	var wait sync.WaitGroup
	for range d.clients {
		wait.Go(func() {
			for t := range trips {
				begin := time.Now()
				if err := d.client(ctx, s, t); err != nil {
					cancel(fmt.Errorf("%s: %w", t.ID, err))
					return
				}
				d.mu.Lock()
				all = append(all, time.Since(begin))
				d.mu.Unlock()
			}
		})
	}
	wait.Wait()
	slices.Sort(all)
	return all, context.Cause(ctx)
}

// pause is how long a client waits before it tries again, when an older transaction had a lock.
const pause = 20 * time.Millisecond

// client books a trip. It tries again, as old as before, if it was too young for a lock.
func (d *driver) client(ctx context.Context, s reservation.Stage, t reservation.Trip) error {
	id := t.ID
	for try := 1; ; try++ {
		t.ID = fmt.Sprint(id, "/", try)
		b, err := d.do(ctx, t.ID, s.Flow(d.program, t))
		if err != nil {
			return err
		}
		d.mu.Lock()
		d.told[t.ID] = b
		d.mu.Unlock()
		if !b.Again() {
			return nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// look is how often somebody looks whether a run is stuck.
const look = time.Second

// do runs a workflow to its end. A run is stuck when a task has lost its process five times in a row; as somebody on call
// would, it has the run go on.
func (d *driver) do(ctx context.Context, id string, flow workflow.Step[reservation.Booking]) (b reservation.Booking, err error) {
	var r workflow.Run[reservation.Booking]
	for started := false; ; {
		some, cancel := context.WithTimeout(ctx, look)
		switch {
		case !started:
			r, err = workflow.Start(some, d.Node(), id, flow, workflow.WithTasks(d.world.Tasks()))
			started = err == nil
		default:
			b, err = r.Result(some)
			if err == nil {
				cancel()
				return b, nil
			}
			if again(err) {
				err = d.resume(ctx, id)
			}
		}
		cancel()
		if err != nil && !again(err) || ctx.Err() != nil {
			return b, err
		}
	}
}

// again reports whether a call is to be repeated: the answer has not come yet, or a controller is being replaced.
func again(err error) bool {
	return errors.Is(err, phalanx.ErrDeadline) || errors.Is(err, phalanx.ErrUnavailable)
}

// resume has a run go on if it is stuck.
func (d *driver) resume(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, look)
	defer cancel()
	status, err := workflow.StatusOf(ctx, d.Node(), id)
	if err != nil || status.State != workflow.Waiting {
		return err
	}
	if err := workflow.Resume(ctx, d.Node(), id); err != nil {
		return err
	}
	d.mu.Lock()
	d.resumed++
	d.mu.Unlock()
	return nil
}

// verify compares the store's books with what the clients were told.
func (d *driver) verify(ctx context.Context) error {
	b, err := d.world.Store.Look(ctx)
	if err != nil {
		return err
	}
	if err := b.Check(d.told); err != nil {
		return err
	}
	attempts, err := d.world.Count()
	if err != nil {
		return err
	}
	if d.Deaths() == 0 {
		return errors.New("no process was killed")
	}
	full, again := 0, 0
	for _, t := range d.told {
		switch {
		case t.Again():
			again++
		case !t.Booked:
			full++
		}
	}
	seats, of := b.Sold()
	fmt.Fprintf(d.out, "%d attempts, %d processes killed, %d stuck runs resumed\n", attempts, d.Deaths(), d.resumed)
	fmt.Fprintf(d.out, "the books balance: %d trips booked, each once, %d sold out, %d too young for a lock and tried again; %d of %d seats sold, none twice; no lock is left\n",
		len(b.Booked), full, again, seats, of)
	return nil
}
