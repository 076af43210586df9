// Install has many hosts fetch a package from one server, which gets slow when too
// many come at once: a semaphore barrier lets in so many at a time. It does that with
// a fixed number, too few, enough and too many, and with one that adapts.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/cluster"
)

// options say what to do.
type options struct {
	nodes    int
	hosts    int
	fixed    []int
	start    int // of the one that adapts
	download time.Duration
	capacity int // downloads that the server serves at full speed
}

func main() {
	o := options{}
	flag.IntVar(&o.nodes, "nodes", 4, "how many nodes the hosts are on")
	flag.IntVar(&o.hosts, "hosts", 500, "how many fetch the package")
	fixed := flag.String("fixed", "10,25,100", "numbers of hosts at a time")
	flag.IntVar(&o.start, "start", 15, "with how many the one that adapts begins")
	flag.DurationVar(&o.download, "download", 100*time.Millisecond, "how long one takes while the server is not overloaded")
	flag.IntVar(&o.capacity, "capacity", 25, "how many the server serves at full speed")
	quick := flag.Bool("quick", false, "fewer hosts, shorter downloads")
	flag.Parse()
	if *quick {
		o.hosts, o.download = 150, 20*time.Millisecond
	}
	for _, f := range strings.Split(*fixed, ",") {
		n, err := strconv.Atoi(f)
		if err != nil || n < 1 {
			fmt.Fprintf(os.Stderr, "install: %q is no number of hosts\n", f)
			os.Exit(2)
		}
		o.fixed = append(o.fixed, n)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	if err := run(ctx, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "install:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, o options) (err error) {
	if o.nodes < 1 || o.hosts < 1 || o.start < 1 || o.capacity < 1 {
		return errors.New("it takes a node, a host, and a capacity")
	}
	var nodes []*cluster.Node
	defer func() {
		for i := range nodes {
			err = errors.Join(err, nodes[len(nodes)-1-i].Leave(context.Background()))
		}
	}()
	for i := range o.nodes {
		cfg := cluster.Config{Name: fmt.Sprint("n", i+1), Services: []cluster.Service{barrier.Service()}}
		if i > 0 {
			cfg.Seeds = []string{nodes[0].ControlAddr()}
		}
		n, err := cluster.Join(ctx, cfg)
		if err != nil {
			return err
		}
		nodes = append(nodes, n)
	}
	best := time.Duration(0)
	for _, n := range o.fixed {
		took, err := install(ctx, nodes, o, fmt.Sprint("fixed/", n), barrier.Semaphore{Count: n, Timeout: time.Minute})
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%8d at a time  %6.2f s\n", n, took.Seconds())
		if best == 0 || took < best {
			best = took
		}
	}
	took, err := install(ctx, nodes, o, "adaptive", barrier.Semaphore{Count: o.start, Timeout: time.Minute, Adaptive: true, Cap: o.hosts})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "        adaptive  %6.2f s, %.2f times the best of these\n", took.Seconds(), took.Seconds()/best.Seconds())
	return nil
}

// install has all hosts fetch the package, and returns how long that took.
func install(ctx context.Context, nodes []*cluster.Node, o options, name string, s barrier.Semaphore) (time.Duration, error) {
	srv, err := newServer(o)
	if err != nil {
		return 0, err
	}
	defer srv.close()
	began := time.Now()
	errs := make([]error, o.hosts)
	var all sync.WaitGroup
	for i := range o.hosts {
		all.Go(func() {
			host := fmt.Sprint("host-", i)
			b, err := barrier.Open(nodes[i%len(nodes)], name, barrier.Config{Semaphore: s})
			if err == nil {
				_, err = b.Enter(ctx, barrier.Entry{Host: host})
			}
			if err == nil {
				err = errors.Join(srv.fetch(ctx), b.Release(ctx, barrier.Entry{Host: host}))
			}
			errs[i] = err
		})
	}
	all.Wait()
	return time.Since(began), errors.Join(errs...)
}
