package main

import (
	"context"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"

	"github.com/phalanx-go/phalanx/sim/barriers"
)

// runBarriers runs the seeds of the barriers' simulator. The first that fails is
// printed with what happened in it.
func runBarriers(ctx context.Context, o options, out io.Writer) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, o.workers))
	for seed := o.first; seed < o.first+o.seeds && ctx.Err() == nil; seed++ {
		group.Go(func() error {
			if ctx.Err() != nil {
				return nil
			}
			err := barriers.Run(barriers.Config{Seed: seed, Trace: o.trace})
			if err != nil {
				err = fmt.Errorf("%w\nreplay it: go run ./cmd/sim --barriers --seed %d -v", err, seed)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "%d runs of the barriers, seeds %d to %d: nothing wrong\n", o.seeds, o.first, o.first+o.seeds-1)
	return err
}
