// Training trains a classifier of handwritten digits on several nodes: a worker
// actor on each computes gradients on its part of the samples, and in each round
// the trainer actor adds up the first few that are ready. The actors are in
// internal/training.
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

	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/digits"
	"github.com/phalanx-go/phalanx/internal/training"
)

func main() {
	nodes := flag.Int("nodes", 4, "how many nodes, all in this process")
	num := flag.Int("num", 3, "gradients that a round waits for")
	quick := flag.Bool("quick", false, "a smaller classifier and fewer rounds")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *nodes, *num, *quick); err != nil {
		fmt.Fprintln(os.Stderr, "training:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, nodes, num int, quick bool) (err error) {
	first, err := join(ctx, "n1")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave(first)) }()
	for i := 1; i < nodes; i++ {
		n, err := join(ctx, fmt.Sprint("n", i+1), first.ControlAddr())
		if err != nil {
			return err
		}
		defer func() { _ = leave(n) }() // the first one tells if something went wrong
	}
	cfg := training.Config{Num: num, Rounds: 60, Seed: 1, OnRound: func(r training.Round) {
		if r.Number == 1 || r.Number%10 == 0 {
			fmt.Fprintf(out, "round %3d  loss %.3f  test accuracy %.3f  parts %v of %d in %3.0f ms\n",
				r.Number, r.Loss, r.Accuracy, r.In, len(r.In)+len(r.Out), 1000*r.Took.Seconds())
		}
	}}
	wanted := 0.9
	if quick {
		cfg.Hidden, cfg.Rounds, wanted = digits.Wide/10, 30, 0.8
	}
	res, err := training.Run(ctx, first, cfg)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d rounds on %d nodes, a gradient has %d bytes; %d sums were recomputed and right; test accuracy %.3f\n",
		res.Rounds, nodes, res.Gradient, res.Verified, res.Accuracy)
	if res.Verified != cfg.Rounds || res.Accuracy < wanted {
		return fmt.Errorf("a test accuracy of %.2f was to be reached, and all %d sums to be right", wanted, cfg.Rounds)
	}
	return nil
}

func join(ctx context.Context, name string, seeds ...string) (*cluster.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return cluster.Join(ctx, cluster.Config{Name: name, Seeds: seeds, Kinds: training.Kinds()})
}

func leave(n *cluster.Node) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return n.Leave(ctx)
}
