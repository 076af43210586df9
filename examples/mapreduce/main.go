// Mapreduce counts the words of this repository's documentation on a cluster whose
// workers are actors. Some of them are much slower than the others. The tasks of each
// phase are the labels of a partial barrier, which finds the knee: where tasks that
// end become rare. There the controller gives a copy of each task that has not ended to
// the worker with the fewest outstanding tasks; the copy that ends first counts. In the
// second phase a worker that was fast in the first gets more tasks. It then does the same
// without the knee, and waits for the slowest worker.
package main

import (
	"context"
	"encoding/json"
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
	nodes   int // that they are on, in turn; 0: each on one of its own
	maps    int // tasks of the first phase
	reduces int // and of the second
	pace    time.Duration
	slow    int    // workers that are slow, the last ones
	slower  int    // by how much a slow worker is slower
	text    string // a file; empty: the documentation
}

func main() {
	o := options{}
	flag.IntVar(&o.workers, "workers", 8, "how many workers")
	flag.IntVar(&o.nodes, "nodes", 0, "how many nodes the workers are on, in turn; 0: each on one of its own")
	flag.IntVar(&o.maps, "maps", 128, "map tasks")
	flag.IntVar(&o.reduces, "reduces", 128, "reduce tasks")
	flag.DurationVar(&o.pace, "pace", 30*time.Millisecond, "time that a task takes at least")
	flag.IntVar(&o.slow, "slow", 1, "how many of the workers are slow, the last ones")
	flag.IntVar(&o.slower, "slower", 16, "by how much a slow worker is slower")
	flag.StringVar(&o.text, "text", "", "file whose words are counted (default: the documentation of this repository)")
	quick := flag.Bool("quick", false, "fewer and shorter tasks")
	output := flag.String("o", "text", "how to print: text or json")
	flag.Parse()
	if *output != "text" && *output != "json" {
		fmt.Fprintf(os.Stderr, "mapreduce: -o %s: it prints text or json\n", *output)
		os.Exit(2)
	}
	if *quick {
		o.maps, o.reduces, o.pace = 32, 32, 5*time.Millisecond
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
		fmt.Fprintln(os.Stderr, "mapreduce:", err)
		os.Exit(1)
	}
}

// result is what both runs took. Its times are in seconds.
type result struct {
	Knee    []phase `json:"knee"`
	Without []phase `json:"without"`
}

// total is how long all phases took.
func total(phases []phase) (seconds float64) {
	for _, p := range phases {
		seconds += p.Seconds
	}
	return seconds
}

// run does the work with the knee and without it.
func run(ctx context.Context, out io.Writer, o options) (r result, err error) {
	if o.workers < 2 || o.maps < o.workers || o.reduces < o.workers || o.slower < 1 || o.slow < 0 || o.slow >= o.workers || o.nodes < 0 {
		return r, errors.New("it takes two workers, one of them fast, and a task of each kind for each")
	}
	text, err := load(o.text)
	if err != nil {
		return r, err
	}
	if r.Knee, err = once(ctx, out, o, text, true); err != nil {
		return r, err
	}
	if r.Without, err = once(ctx, out, o, text, false); err != nil {
		return r, err
	}
	fast, slow := total(r.Knee), total(r.Without)
	fmt.Fprintf(out, "%.2f s with the knee, %.2f s without it: %.1f times faster\n", fast, slow, slow/fast)
	return r, nil
}

// paceOf is how long a task takes at worker i at least.
func (o options) paceOf(i int) time.Duration {
	if i < o.workers-o.slow {
		return o.pace
	}
	return o.pace * time.Duration(o.slower)
}

// once has a new cluster count the words, and checks every count.
func once(ctx context.Context, out io.Writer, o options, text string, knee bool) (phases []phase, err error) {
	var nodes []*cluster.Node
	defer func() {
		for i := range nodes {
			err = errors.Join(err, nodes[len(nodes)-1-i].Leave(context.Background()))
		}
	}()
	count := o.nodes
	if count == 0 {
		count = o.workers
	}
	for i := range count {
		cfg := cluster.Config{Name: fmt.Sprint("node-", i+1), Services: []cluster.Service{barrier.Service()}, Kinds: map[string]func(*cluster.Node) *actor.Props{}}
		for w := i; w < o.workers; w += count {
			cfg.Kinds[workerName(w)] = func(n *cluster.Node) *actor.Props { return newWorker(n, workerName(w), o.paceOf(w)) }
		}
		if i > 0 {
			cfg.Seeds = []string{nodes[0].ControlAddr()}
		}
		n, err := cluster.Join(ctx, cfg)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	c, err := newController(ctx, nodes, o.workers, knee)
	if err != nil {
		return nil, err
	}
	for i, s := range split(text, o.maps) {
		if _, err := nodes[0].Put(ctx, splitID(i), []byte(s)); err != nil {
			return nil, err
		}
	}
	for _, todo := range []struct {
		name  string
		tasks []task
	}{{"map", mapTasks(o.maps)}, {"reduce", reduceTasks(o.maps, o.reduces)}} {
		p, err := c.phase(ctx, todo.name, todo.tasks)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", todo.name, err)
		}
		phases = append(phases, p)
		fmt.Fprintf(out, "%-6s %3d tasks, %3d of them given to another worker, done after %.2f s\n", p.Name, p.Tasks, p.Respawned, p.Seconds)
	}
	return phases, check(ctx, nodes[0], text, o.reduces)
}
