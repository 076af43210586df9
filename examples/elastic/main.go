// Elastic trains a classifier of handwritten digits with worker processes that die
// and come. Each worker computes the gradient on its share of a batch; an AllReduce
// adds them up, and all make the same step.
//
// One worker is killed. The first of the others that notices revokes the group, so that
// all leave the AllReduce; they agree on the last step that all have made, shrink the
// group, and go on from there. Then a new worker comes and the group grows. In the end
// all have the same weights, and these are as good as without the kill.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

// options say what to do.
type options struct {
	workers int
	hidden  int // units of the classifier
	steps   int
	batch   int // samples of a step
	killAt  int // step at which a worker is killed
	growAt  int // and at which another one comes
	seed    uint64
}

func main() {
	if as := os.Getenv(workerVar); as != "" {
		if err := beWorker(as); err != nil {
			fmt.Fprintf(os.Stderr, "elastic worker: %v\n", err)
			os.Exit(1)
		}
		return
	}
	o := options{}
	flag.IntVar(&o.workers, "workers", 6, "how many worker processes")
	flag.IntVar(&o.hidden, "hidden", 1200, "units of the classifier")
	flag.IntVar(&o.steps, "steps", 90, "steps of the training")
	flag.IntVar(&o.batch, "batch", 720, "samples of a step")
	flag.Uint64Var(&o.seed, "seed", 1, "of the weights, and of the batches")
	quick := flag.Bool("quick", false, "a smaller classifier and fewer steps")
	flag.Parse()
	if *quick {
		o.workers, o.hidden, o.steps = 4, 200, 45
	}
	o.killAt, o.growAt = o.steps/3, 2*o.steps/3
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	if err := run(ctx, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "elastic:", err)
		os.Exit(1)
	}
}
