package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
	"unsafe"

	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
)

// workerVar has the program be a Phalanx node, with this configuration.
const workerVar = "PHALANX_BENCH_WORKER"

// patience bounds whatever a node does.
const patience = 2 * time.Minute

type workerConfig struct {
	Rank int
	Addr string
	Seed string
}

// order is what a worker is asked to do, one line of JSON on its standard input.
// It answers each with one line.
type order struct {
	Do   string // prepare, run, finish
	Name string // what the ids of the run begin with
	At   int64  // when the run starts, by the machine's monotonic clock
	job
}

type answer struct {
	Err        string `json:",omitempty"`
	Control    string `json:",omitempty"` // of the first answer: where others join
	Start, End int64  // of a run
}

// worker is a node, and what it has to do.
type worker struct {
	rank   int
	node   *cluster.Node
	alarm  alarm
	values []float32         // what it puts, as long as the size is the same
	views  []*storenode.View // what it got
	wants  []float32         // of each view: what every element has to be
}

// beWorker is a node until its standard input ends.
func beWorker(config string) error {
	var cfg workerConfig
	if err := json.Unmarshal([]byte(config), &cfg); err != nil {
		return err
	}
	log := logrus.New()
	log.SetOutput(io.Discard)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := cluster.Config{Name: fmt.Sprint("n", cfg.Rank), Bind: cfg.Addr, Insecure: true, Deadline: patience, Logger: log}
	if cfg.Seed != "" {
		c.Seeds = []string{cfg.Seed}
	}
	node, err := cluster.Join(ctx, c)
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	_ = out.Encode(answer{Control: node.ControlAddr()})
	w := &worker{rank: cfg.Rank, node: node}
	if w.alarm, err = newAlarm(); err != nil {
		return err
	}
	if err := unix.SetNonblock(0, true); err != nil { // as alarm says of threads in the kernel
		return err
	}
	for in := bufio.NewScanner(os.NewFile(0, "orders")); in.Scan(); {
		var o order
		if err := json.Unmarshal(in.Bytes(), &o); err != nil {
			return err
		}
		a, err := w.carryOut(o)
		if err != nil {
			a.Err = err.Error()
		}
		_ = out.Encode(a)
	}
	return nil
}

func (w *worker) carryOut(o order) (a answer, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	switch o.Do {
	case "prepare":
		return a, w.prepare(ctx, o)
	case "run":
		if err := w.alarm.wait(o.At + int64(w.rank)*int64(o.Interval)); err != nil {
			return a, err
		}
		a.Start = monotonic()
		err = w.run(ctx, o)
		a.End = monotonic()
		return a, err
	case "finish":
		return a, w.finish(ctx, o)
	}
	return a, fmt.Errorf("there is no order %q", o.Do)
}

// id is the object of a rank.
func (o order) id(rank int) phalanx.ObjectID {
	return phalanx.ObjectID(fmt.Sprint(o.Name, "/", rank))
}

func (o order) target() phalanx.ObjectID { return phalanx.ObjectID(o.Name + "/target") }

func (o order) all() []phalanx.ObjectID {
	var ids []phalanx.ObjectID
	for i := range o.Nodes {
		ids = append(ids, o.id(i))
	}
	return ids
}

// prepare puts what is there before the start: as the buffers of a peer are, an
// input is in place. When nodes come one by one, an input comes with its node.
func (w *worker) prepare(ctx context.Context, o order) error {
	if o.Op == broadcast && w.rank != 0 {
		return nil
	}
	if int64(len(w.values)) != o.Size/4 { // else memory is as warm as that of a peer, too
		w.values = make([]float32, o.Size/4)
		for i := range w.values {
			w.values[i] = float32(w.rank + 1)
		}
	}
	switch {
	case o.Op == broadcast && w.rank == 0, o.Op == gather, (o.Op == reduce || o.Op == allreduce) && o.Interval == 0:
		return w.put(ctx, o)
	}
	return nil
}

func (w *worker) put(ctx context.Context, o order) error {
	_, err := cluster.PutArray(ctx, w.node, o.id(w.rank), w.values)
	return err
}

// get keeps what it gets until the run is over.
func (w *worker) get(ctx context.Context, id phalanx.ObjectID, want float32) error {
	v, err := w.node.Get(ctx, id)
	if err == nil {
		w.views, w.wants = append(w.views, v), append(w.wants, want)
	}
	return err
}

func (w *worker) run(ctx context.Context, o order) error {
	sum := float32(o.Nodes*(o.Nodes+1)) / 2
	if late := o.Interval > 0 && (o.Op == reduce || o.Op == allreduce); late {
		put := make(chan error, 1)
		go func() { put <- w.put(ctx, o) }()
		if w.rank != 0 && o.Op == reduce {
			return <-put
		}
		err := w.combine(ctx, o, sum)
		return errors.Join(err, <-put)
	}
	switch {
	case o.Op == broadcast && w.rank != 0:
		return w.get(ctx, o.id(0), 1)
	case o.Op == gather && w.rank == 0:
		g, err := w.node.Gather(ctx, o.all(), 0)
		for i, v := range g.Views {
			w.views, w.wants = append(w.views, v), append(w.wants, float32(i+1))
		}
		return err
	case o.Op == reduce && w.rank == 0, o.Op == allreduce:
		return w.combine(ctx, o, sum)
	case o.Op == roundtrip && w.rank == 0:
		if err := w.put(ctx, o); err != nil {
			return err
		}
		return w.get(ctx, o.id(1), 2)
	case o.Op == roundtrip && w.rank == 1:
		if err := w.get(ctx, o.id(0), 1); err != nil {
			return err
		}
		return w.put(ctx, o)
	}
	return nil
}

// combine has the sum of all at this node: in a reduce it is the only one that
// asks for it.
func (w *worker) combine(ctx context.Context, o order, sum float32) error {
	r := storenode.Reduce{Target: o.target(), Sources: o.all(), Op: phalanx.Sum}
	if o.Op == reduce {
		got := make(chan error, 1)
		go func() { got <- w.get(ctx, r.Target, sum) }() // while it is made
		_, err := w.node.Reduce(ctx, r)
		return errors.Join(err, <-got)
	}
	v, _, err := w.node.AllReduce(ctx, r)
	if err == nil {
		w.views, w.wants = append(w.views, v), append(w.wants, sum)
	}
	return err
}

// finish checks every element of what the node got, and has its objects deleted.
func (w *worker) finish(ctx context.Context, o order) error {
	var err error
	for i, v := range w.views {
		if wrong := check(v.Bytes(), o.Size, w.wants[i]); wrong != nil && err == nil {
			err = wrong
		}
		v.Release()
	}
	w.views, w.wants = nil, nil
	if w.rank != 0 || err != nil {
		return err
	}
	for _, id := range append(o.all(), o.target()) {
		if err := w.node.Delete(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

func check(b []byte, size int64, want float32) error {
	if int64(len(b)) != size {
		return fmt.Errorf("an object of %d bytes has %d", size, len(b))
	}
	for i, v := range unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), size/4) {
		if v != want {
			return fmt.Errorf("element %d is %g, not %g", i, v, want)
		}
	}
	return nil
}

// monotonic is a clock that all processes of the machine share.
func monotonic() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return t.Nano()
}

// alarm wakes at an instant of the monotonic clock. A Go timer of an idle process
// is up to a millisecond late, which no peer is; and a thread that sleeps in the
// kernel would keep the process's only processor from others for a while.
type alarm struct {
	fd   int
	file *os.File // whose Fd would make it block
}

func newAlarm() (alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	return alarm{fd, os.NewFile(uintptr(fd), "alarm")}, err
}

func (a alarm) wait(at int64) error {
	when := unix.ItimerSpec{Value: unix.NsecToTimespec(max(at, 1))}
	if err := unix.TimerfdSettime(a.fd, unix.TFD_TIMER_ABSTIME, &when, nil); err != nil {
		return err
	}
	_, err := a.file.Read(make([]byte, 8))
	return err
}
