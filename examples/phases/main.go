// Phases broadcasts an object to the receivers that are ready in time. Receivers need a
// while to be ready, some of them very long. They enter a partial barrier, which fires at
// a knee, where arrivals become rare. The barrier tells the sender, which puts the object;
// the receivers that passed get it. Late receivers are told to leave.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/cluster"
)

// options say what to do.
type options struct {
	nodes     int
	receivers int
	late      int // receivers that are late
	spread    time.Duration
	size      int
	seed      uint64 // of who is ready when
}

func main() {
	o := options{}
	flag.IntVar(&o.nodes, "nodes", 5, "how many nodes, one of them the sender's")
	flag.IntVar(&o.receivers, "receivers", 50, "how many want the object")
	flag.IntVar(&o.late, "late", 6, "how many of them take long to be ready")
	flag.DurationVar(&o.spread, "spread", time.Second, "within which the others are ready")
	flag.IntVar(&o.size, "size", 16<<20, "bytes of the object")
	flag.Uint64Var(&o.seed, "seed", 7, "of who is ready when")
	output := flag.String("o", "text", "how to print: text or json")
	quick := flag.Bool("quick", false, "a small object, soon")
	flag.Parse()
	if *output != "text" && *output != "json" {
		fmt.Fprintf(os.Stderr, "phases: -o %s: it prints text or json\n", *output)
		os.Exit(2)
	}
	if *quick {
		o.spread, o.size = 200*time.Millisecond, 1<<20
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	text := io.Writer(os.Stdout)
	if *output == "json" {
		text = io.Discard
	}
	r, err := run(ctx, text, o)
	if err == nil && *output == "json" {
		err = json.NewEncoder(os.Stdout).Encode(r)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "phases:", err)
		os.Exit(1)
	}
}

const object phalanx.ObjectID = "stream"

// lines lets callbacks write beside run, and no longer than it.
type lines struct {
	mu   sync.Mutex
	out  io.Writer
	over bool
}

func (l *lines) printf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		fmt.Fprintf(l.out, format+"\n", args...)
	}
}

func (l *lines) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
}

// result is how it went. Its times are in seconds since the first receiver began to get ready.
type result struct {
	Receivers int     `json:"receivers"`
	Late      int     `json:"late"`  // that take long to be ready
	Ready     int     `json:"ready"` // when the sender began
	Cause     string  `json:"cause"` // why it did
	Got       int     `json:"got"`
	Left      int     `json:"left"`   // told to leave
	Begun     float64 `json:"begun"`  // when the sender began
	InTime    float64 `json:"intime"` // when the last one was ready that does not take long
	Last      float64 `json:"last"`   // when the last one of all was
}

func run(ctx context.Context, w io.Writer, o options) (r result, err error) {
	out := &lines{out: w}
	defer out.end()
	if o.nodes < 2 || o.receivers < 4 || o.late < 0 || o.late > o.receivers/3 {
		return r, errors.New("it takes two nodes, four receivers, and two thirds of them in time")
	}
	var nodes []*cluster.Node
	defer func() {
		for i := range nodes {
			err = errors.Join(err, nodes[len(nodes)-1-i].Leave(context.Background()))
		}
	}()
	for i := range o.nodes {
		cfg := cluster.Config{Name: fmt.Sprint("n", i+1), Services: []cluster.Service{barrier.Settings{Keep: o.keep()}.Service()}}
		if i > 0 {
			cfg.Seeds = []string{nodes[0].ControlAddr()}
		}
		n, err := cluster.Join(ctx, cfg)
		if err != nil {
			return r, err
		}
		nodes = append(nodes, n)
	}
	cfg := barrier.Config{Max: o.receivers, Late: barrier.CatchUp, Knee: barrier.Knee{Percent: 60}}
	start, err := barrier.Open(nodes[0], "start", cfg)
	if err != nil {
		return r, err
	}
	sent, fired := make(chan error, 1), make(chan result, 1) // a barrier fires once
	began := time.Now()
	stop, err := start.Watch(ctx, barrier.Callbacks{Notify: func(n barrier.Notice) {
		switch n.What {
		case barrier.Fired:
			out.printf("%d of %d are ready, and the sender begins: %s", n.N, n.Max, n.Cause)
			fired <- result{Ready: n.N, Cause: n.Cause, Begun: time.Since(began).Seconds()}
			go func() { // the next notice does not wait for it
				_, err := nodes[0].Put(ctx, object, make([]byte, o.size))
				sent <- err
			}()
		case barrier.Late:
			out.printf("%s is late", n.Entry.Host)
		}
	}})
	if err != nil {
		return r, err
	}
	defer stop()
	ready := o.ready()
	got, left, err := receive(ctx, nodes[1:], ready, cfg)
	if err != nil {
		return r, err
	}
	select {
	case r = <-fired:
	case <-ctx.Done():
		return r, fmt.Errorf("nobody tells that the barrier has fired: %w", ctx.Err())
	}
	if err := <-sent; err != nil {
		return r, err
	}
	hosts, err := start.Hosts(ctx)
	if err != nil {
		return r, err
	}
	if len(hosts) != got {
		return r, fmt.Errorf("%d have passed the barrier, and %d have the object", len(hosts), got)
	}
	out.printf("%d have the object, %d were told to leave", got, left)
	r.Receivers, r.Late, r.Got, r.Left = o.receivers, o.late, got, left
	r.InTime, r.Last = slices.Max(ready[o.late:]).Seconds(), slices.Max(ready).Seconds()
	return r, nil
}

// ready says when each receiver is ready: most of them within the spread, the late ones, which
// come first, after 15 to 30 times as long.
func (o options) ready() []time.Duration {
	r := rand.New(rand.NewPCG(o.seed, o.seed))
	all := make([]time.Duration, o.receivers)
	for i := range all {
		all[i] = time.Duration(r.Float64() * float64(o.spread))
		if i < o.late {
			all[i] = o.spread * time.Duration(15*(o.late+i)) / time.Duration(o.late)
		}
	}
	return all
}

// keep is how long managers remember a barrier: until the last receiver has come.
func (o options) keep() time.Duration { return 2 * slices.Max(o.ready()) }

// receive has all receivers get ready, enter, and get the object or leave.
func receive(ctx context.Context, nodes []*cluster.Node, ready []time.Duration, cfg barrier.Config) (got, left int, err error) {
	var mu sync.Mutex
	var errs []error
	var all sync.WaitGroup
	for i, after := range ready {
		all.Go(func() {
			node := nodes[i%len(nodes)]
			time.Sleep(after)
			b, err := barrier.Open(node, "start", cfg)
			if err == nil {
				_, err = b.Enter(ctx, barrier.Entry{Host: fmt.Sprint("receiver-", i)})
			}
			late := errors.Is(err, barrier.ErrCatchUp)
			if err == nil {
				var v interface{ Release() }
				if v, err = node.Get(ctx, object); err == nil {
					v.Release()
				}
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case late:
				left++
			case err != nil:
				errs = append(errs, err)
			default:
				got++
			}
		})
	}
	all.Wait()
	return got, left, errors.Join(errs...)
}
