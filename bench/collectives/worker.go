package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"time"
	"unsafe"

	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"

	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/bench"
)

// workerVar makes the program a Phalanx node, with this configuration.
const workerVar = "PHALANX_BENCH_WORKER"

// patience bounds each order of a node.
const patience = 2 * time.Minute

type workerConfig struct {
	Rank int
	Addr string
	Seed string
	Warm int64 // bytes of memory that the node touches before it joins, as a peer does with its buffers
}

// quiet is how long a node that has finished its part sends nothing, as a peer's rank
// does that waits for the others: they need the CPU.
const quiet = 20 * time.Millisecond

// order is an order to a worker, one line of JSON on its standard input. The worker
// answers each with one line.
type order struct {
	Do   string // prepare, run, finish
	Name string // begins the ids of the run
	At   int64  // when the run starts, by the machine's monotonic clock
	job
}

// task is the part of a rank.
func (o order) task(rank int) bench.Task {
	return bench.Task{Op: o.Op, Name: o.Name, Rank: rank, Of: o.Nodes, Size: o.Size}
}

// late reports whether the inputs come with their nodes, which come one by one.
func (o order) late() bool {
	return o.Interval > 0 && (o.Op == bench.Reduce || o.Op == bench.AllReduce)
}

type answer struct {
	Err        string `json:",omitempty"`
	Control    string `json:",omitempty"` // in the first answer: where others join
	Start, End int64  // of a run
}

// worker is a node with its tasks.
type worker struct {
	bench.Worker
	rank  int
	alarm alarm
}

// beWorker runs a node until its standard input ends.
func beWorker(config string) error {
	var cfg workerConfig
	if err := json.Unmarshal([]byte(config), &cfg); err != nil {
		return err
	}
	log := logrus.New()
	log.SetOutput(io.Discard)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := cluster.Config{Name: fmt.Sprint("n", cfg.Rank), Bind: cfg.Addr, Insecure: true, Warm: cfg.Warm, Deadline: patience, Logger: log}
	if cfg.Seed != "" {
		c.Seeds = []string{cfg.Seed}
	}
	c.Alone = cfg.Seed == ""
	node, err := cluster.Join(ctx, c)
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	_ = out.Encode(answer{Control: node.ControlAddr()})
	w := &worker{Worker: bench.Worker{Node: node}, rank: cfg.Rank}
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
	if slices.Contains(directoryOps, o.Op) {
		if o.Do != "run" || w.rank != 0 {
			return a, nil
		}
		median, err := callDirectory(ctx, w.Node, o)
		return answer{Start: o.At, End: o.At + median.Nanoseconds()}, err
	}
	switch t := o.task(w.rank); o.Do {
	case "prepare":
		if o.late() {
			w.Fill(t)
			return a, nil
		}
		return a, w.Prepare(ctx, t)
	case "run":
		if err := w.alarm.wait(o.At + int64(w.rank)*int64(o.Interval)); err != nil {
			return a, err
		}
		a.Start = monotonic()
		err = w.run(ctx, o, t)
		a.End = monotonic()
		time.Sleep(quiet)
		return a, err
	case "finish":
		return a, w.finish(ctx, t)
	}
	return a, fmt.Errorf("there is no order %q", o.Do)
}

func (w *worker) run(ctx context.Context, o order, t bench.Task) error {
	if !o.late() {
		return w.Run(ctx, t)
	}
	put := make(chan error, 1)
	go func() { put <- w.Put(ctx, t) }()
	return errors.Join(w.Run(ctx, t), <-put)
}

// finish checks the objects that the node got; the first node deletes the run's objects.
func (w *worker) finish(ctx context.Context, t bench.Task) error {
	if err := w.Check(t); err != nil || w.rank != 0 {
		return err
	}
	for _, id := range t.Made() {
		if err := w.Node.Delete(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// monotonic is a clock that all processes of the machine share. The program reads it
// once: a call into the kernel during a run would wake a thread of the runtime.
var monotonic = func() func() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	start := time.Now()
	return func() int64 { return t.Nano() + time.Since(start).Nanoseconds() }
}()

// alarm wakes at an instant of the monotonic clock. A Go timer of an idle process is up
// to a millisecond late, unlike the peers' timers; and a thread that sleeps in the kernel
// would keep the process's only processor from others for a while.
type alarm struct {
	fd   int
	file *os.File // its Fd method would make it block
	raw  syscall.RawConn
}

func newAlarm() (alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return alarm{}, err
	}
	file := os.NewFile(uintptr(fd), "alarm")
	raw, err := file.SyscallConn()
	return alarm{fd, file, raw}, err
}

func (a alarm) wait(at int64) error {
	when := unix.ItimerSpec{Value: unix.NsecToTimespec(max(at, 1))}
	if err := unix.TimerfdSettime(a.fd, unix.TFD_TIMER_ABSTIME, &when, nil); err != nil {
		return err
	}
	var times [8]byte
	return a.raw.Read(func(fd uintptr) bool { // raw, as monotonic says of calls into the kernel
		n, _, _ := syscall.RawSyscall(syscall.SYS_READ, fd, uintptr(unsafe.Pointer(&times)), uintptr(len(times)))
		return int(n) == len(times)
	})
}
