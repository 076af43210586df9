// Command hunt runs seeds of a simulation with a mistake until one fails. It has no mistakes
// unless the build uses internal/mistakes' overlay. It prints a Catch as JSON.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/phalanx-go/phalanx/internal/mistakes"
	"github.com/phalanx-go/phalanx/internal/mistakes/present"
	"github.com/phalanx-go/phalanx/sim"
	"github.com/phalanx-go/phalanx/sim/barriers"
	"github.com/phalanx-go/phalanx/sim/groups"
	"github.com/phalanx-go/phalanx/sim/workflows"
)

func main() {
	debug.SetGCPercent(800) // as cmd/sim does
	by := pflag.String("by", string(mistakes.Store), "the simulation's folder")
	number := pflag.Int64("mistake", 0, "which mistake is made")
	seeds := pflag.Uint64("seeds", 1, "how many seeds to run at most")
	pflag.Parse()
	c := hunt(mistakes.Finder(*by), *number, *seeds)
	if err := json.NewEncoder(os.Stdout).Encode(c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// hunt tries one seed after the other.
func hunt(by mistakes.Finder, number int64, seeds uint64) (c mistakes.Catch) {
	for seed := uint64(1); seed <= seeds; seed++ {
		c.Seeds = seed
		present.Make(number)
		r := run(by, seed)
		if r.Err == nil {
			continue
		}
		c.Found = r.Err.Error()
		present.Make(0)
		if again := run(by, seed); again.Err != nil {
			c.Problem = "without the mistake too: " + again.Err.Error()
		} else if by == mistakes.Store {
			present.Make(number)
			c.Problem = shrink(sim.Config{Seed: seed}, r)
		}
		return c
	}
	return c
}

// run simulates a seed. A panic is a failure.
func run(by mistakes.Finder, seed uint64) (r sim.Result) {
	defer func() {
		if p := recover(); p != nil {
			r.Err = fmt.Errorf("panic: %v", p)
		}
	}()
	switch by {
	case mistakes.Store:
		return sim.Run(sim.Config{Seed: seed})
	case mistakes.Barriers:
		return sim.Run(sim.Config{Seed: seed, Services: []sim.Kind{barriers.Kind}, Alone: true})
	case mistakes.Groups:
		return sim.Run(sim.Config{Seed: seed, Services: []sim.Kind{groups.Kind}, Alone: true})
	case mistakes.Workflows:
		return sim.Run(sim.Config{Seed: seed, Services: []sim.Kind{workflows.Kind}, Alone: true})
	}
	return sim.Result{Err: fmt.Errorf("%s is no simulation", by)}
}

// shrink makes a failure small and repeats the small one. It returns the problem with that, or "".
func shrink(cfg sim.Config, r sim.Result) string {
	if len(r.Actions) > 12 && r.Time > 10*time.Second {
		return "" // shrinking would take long
	}
	cfg, small := sim.Shrink(cfg, r)
	if len(small.Actions) > len(r.Actions) || small.Err == nil {
		return fmt.Sprintf("made small it has %d actions instead of %d, and ends in %v", len(small.Actions), len(r.Actions), small.Err)
	}
	if again := sim.Run(cfg); again.Hash != small.Hash {
		return strings.TrimSpace(cfg.Replay()) + " does not replay it"
	}
	return ""
}
