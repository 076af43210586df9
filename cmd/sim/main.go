// Command sim runs many simulated clusters (package sim), each from a seed, and
// reports which rare paths they met. It stops at the first broken invariant
// (with --all it goes on), prints the command that replays it, and exits with 1.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"

	"github.com/phalanx-go/phalanx/sim"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, pflag.ErrHelp) {
			fmt.Fprintln(os.Stderr, err)
			stop()
			os.Exit(1)
		}
	}
}

// totals is what all runs have met together.
type totals struct {
	runs, steps int
	time        time.Duration
	met         map[string]int // runs in which it was met
	failed      []sim.Result   // in the order in which they were found
}

func (t *totals) add(r sim.Result) {
	t.runs++
	t.steps += r.Steps
	t.time += r.Time
	for what := range r.Met {
		t.met[what]++
	}
	if r.Err != nil {
		t.failed = append(t.failed, r)
	}
}

func run(ctx context.Context, args []string, out, progress io.Writer) error {
	flags := pflag.NewFlagSet("sim", pflag.ContinueOnError)
	seeds := flags.Uint64("seeds", 1, "how many seeds to run")
	first := flags.Uint64("seed", 1, "the first seed")
	verbose := flags.BoolP("verbose", "v", false, "print everything that happens")
	workers := flags.Int("parallel", runtime.GOMAXPROCS(0), "how many to run at a time")
	all := flags.Bool("all", false, "go on after a failure")
	only := flags.IntSlice("only", nil, "do only these actions of the schedule")
	calm := flags.Bool("calm", false, "a network that delays, and nothing else")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var trace io.Writer
	if *verbose {
		trace, *workers = out, 1
	}
	results := make(chan sim.Result)
	var next atomic.Uint64
	var failed atomic.Bool
	var wg sync.WaitGroup
	for range max(1, *workers) {
		wg.Go(func() {
			for ctx.Err() == nil && (*all || !failed.Load()) {
				i := next.Add(1) - 1
				if i >= *seeds {
					return
				}
				r := sim.Run(sim.Config{Seed: *first + i, Only: some(*only, flags.Changed("only")), Calm: *calm, Trace: trace})
				if r.Err != nil {
					failed.Store(true)
				}
				results <- r
			}
		})
	}
	go func() {
		wg.Wait()
		close(results)
	}()
	return report(results, *seeds, *all, out, progress)
}

// some returns the actions that are wanted; nil stands for all.
func some(only []int, given bool) []int {
	if !given {
		return nil
	}
	return append([]int{}, only...)
}

// report takes the results as they come and says what they were.
func report(results <-chan sim.Result, seeds uint64, all bool, out, progress io.Writer) error {
	began, told := time.Now(), time.Now()
	sum := totals{met: map[string]int{}}
	for r := range results {
		sum.add(r)
		if all && r.Err != nil {
			fmt.Fprintf(out, "seed %d: %v\n", r.Seed, r.Err)
		}
		if time.Since(told) >= time.Second {
			told = time.Now()
			fmt.Fprintf(progress, "\r%d of %d seeds, %d steps, %.0f seeds/s, %d failed ", sum.runs, seeds, sum.steps,
				float64(sum.runs)/time.Since(began).Seconds(), len(sum.failed))
		}
	}
	took := time.Since(began)
	fmt.Fprintf(progress, "\r%d of %d seeds, %d steps, %.0f seeds/s, %d failed \n", sum.runs, seeds, sum.steps, float64(sum.runs)/took.Seconds(), len(sum.failed))
	fmt.Fprintf(out, "%d runs, %v simulated, %d steps, in %v\n", sum.runs, sum.time.Round(time.Second), sum.steps, took.Round(time.Millisecond))
	for _, what := range slices.Sorted(maps.Keys(sum.met)) {
		fmt.Fprintf(out, "%8d runs met: %s\n", sum.met[what], what)
	}
	if len(sum.failed) == 0 {
		return nil
	}
	r := sum.failed[0]
	cfg, small := sim.Shrink(r)
	fmt.Fprintf(out, "shrunk from %d actions to %d:\n%s\n%v\nreplay: go run ./cmd/sim %s -v\n", len(r.Actions), len(small.Actions), strings.Join(small.Script, "\n"), small.Err, cfg.Replay())
	return fmt.Errorf("seed %d: %w\nreplay: go run ./cmd/sim --seed %d -v", r.Seed, r.Err, r.Seed)
}
