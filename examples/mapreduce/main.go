// Mapreduce counts the words of this repository's documentation on a cluster whose
// workers are actors. One of them is much slower than the others. The tasks of each
// phase are the labels of a partial barrier, which finds the knee: where tasks that
// end become rare. There the controller gives those that have not ended to workers
// that have nothing to do; whichever copy of a task ends first counts. It then does
// the same without that, and waits.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/cluster"
)

// options say what to do.
type options struct {
	workers int
	maps    int // tasks of the first phase
	reduces int // and of the second
	pace    time.Duration
	slower  int    // by how much the last worker is slower
	text    string // a file; empty: the documentation
}

func main() {
	o := options{}
	flag.IntVar(&o.workers, "workers", 8, "how many workers, each on a node of its own")
	flag.IntVar(&o.maps, "maps", 128, "map tasks")
	flag.IntVar(&o.reduces, "reduces", 128, "reduce tasks")
	flag.DurationVar(&o.pace, "pace", 30*time.Millisecond, "time that a task takes at least")
	flag.IntVar(&o.slower, "slower", 16, "by how much the last worker is slower")
	flag.StringVar(&o.text, "text", "", "file whose words are counted (default: the documentation of this repository)")
	quick := flag.Bool("quick", false, "fewer and shorter tasks")
	flag.Parse()
	if *quick {
		o.maps, o.reduces, o.pace = 32, 32, 5*time.Millisecond
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	if err := run(ctx, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "mapreduce:", err)
		os.Exit(1)
	}
}

// run does the work with the knee and without it.
func run(ctx context.Context, out io.Writer, o options) error {
	if o.workers < 2 || o.maps < o.workers || o.reduces < o.workers || o.slower < 1 {
		return errors.New("it takes two workers, and a task of each kind for each")
	}
	text, err := load(o.text)
	if err != nil {
		return err
	}
	fast, err := once(ctx, out, o, text, true)
	if err != nil {
		return err
	}
	slow, err := once(ctx, out, o, text, false)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%.2f s with the knee, %.2f s without it: %.1f times faster\n", fast.Seconds(), slow.Seconds(), slow.Seconds()/fast.Seconds())
	return nil
}

// once has a new cluster count the words, and checks every count.
func once(ctx context.Context, out io.Writer, o options, text string, knee bool) (took time.Duration, err error) {
	var nodes []*cluster.Node
	defer func() {
		for i := range nodes {
			err = errors.Join(err, nodes[len(nodes)-1-i].Leave(context.Background()))
		}
	}()
	for i := range o.workers {
		pace := o.pace
		if i == o.workers-1 {
			pace *= time.Duration(o.slower)
		}
		cfg := cluster.Config{Name: fmt.Sprint("worker-", i+1), Services: []cluster.Service{barrier.Service()},
			Kinds: map[string]func(*cluster.Node) *actor.Props{"worker": func(n *cluster.Node) *actor.Props { return newWorker(n, pace) }}}
		if i > 0 {
			cfg.Seeds = []string{nodes[0].ControlAddr()}
		}
		n, err := cluster.Join(ctx, cfg)
		if err != nil {
			return 0, err
		}
		nodes = append(nodes, n)
	}
	c, err := newController(ctx, nodes, knee)
	if err != nil {
		return 0, err
	}
	splits := split(text, o.maps)
	for i, s := range splits {
		if _, err := nodes[0].Put(ctx, splitID(i), []byte(s)); err != nil {
			return 0, err
		}
	}
	began := time.Now()
	for _, phase := range []struct {
		name  string
		tasks []task
	}{{"map", mapTasks(o.maps)}, {"reduce", reduceTasks(o.maps, o.reduces)}} {
		again, err := c.phase(ctx, phase.name, phase.tasks)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", phase.name, err)
		}
		fmt.Fprintf(out, "%-6s %3d tasks, %3d of them given to another worker, done after %.2f s\n", phase.name, len(phase.tasks), again, time.Since(began).Seconds())
	}
	took = time.Since(began)
	return took, check(ctx, nodes[0], text, o.reduces)
}
