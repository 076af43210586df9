package main

import (
	"context"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"
)

// runService runs the seeds of the simulator of what is built on the store. The first
// that fails is printed.
func runService(ctx context.Context, o options, out io.Writer, name string, run func(seed uint64) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, o.workers))
	for seed := o.first; seed < o.first+o.seeds && ctx.Err() == nil; seed++ {
		group.Go(func() error {
			if ctx.Err() != nil {
				return nil
			}
			err := run(seed)
			if err != nil {
				err = fmt.Errorf("%w\nreplay it: go run ./cmd/sim --%s --seed %d -v", err, name, seed)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "%d runs of the %s, seeds %d to %d: nothing wrong\n", o.seeds, name, o.first, o.first+o.seeds-1)
	return err
}
