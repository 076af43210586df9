// Command sim runs many simulated clusters (package sim), each from a seed, and
// reports in how many of them each kind of fault and each rare path was met. It
// stops at the first broken invariant (with --all it goes on), makes that run as
// short as it can, prints it with the command that replays it, and exits with 1.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/phalanx-go/phalanx/sim"
	"github.com/phalanx-go/phalanx/sim/barriers"
	"github.com/phalanx-go/phalanx/sim/groups"
	"github.com/phalanx-go/phalanx/sim/workflows"
)

// garbage is how much the heap may grow until the next collection, in percent of what is
// in use (GOGC). A run lives for some ten milliseconds and has a few MB.
const garbage = 800

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	progress := io.Writer(io.Discard)
	if term.IsTerminal(int(os.Stderr.Fd())) {
		progress = os.Stderr
	}
	if err := run(ctx, os.Args[1:], os.Stdout, progress); err != nil {
		if !errors.Is(err, pflag.ErrHelp) {
			fmt.Fprintln(os.Stderr, err)
			stop()
			os.Exit(1)
		}
	}
}

// options are what the command line says.
type options struct {
	seeds, first uint64
	only         []int
	some         bool // only was given
	calm, all    bool
	services     []sim.Kind
	alone        bool
	output       string
	workers      int
	trace        io.Writer
}

func run(ctx context.Context, args []string, out, progress io.Writer) error {
	var o options
	flags := pflag.NewFlagSet("sim", pflag.ContinueOnError)
	flags.Uint64Var(&o.seeds, "seeds", 1, "how many seeds to run")
	flags.Uint64Var(&o.first, "seed", 1, "the first seed")
	flags.IntSliceVar(&o.only, "only", nil, "do only these actions of the schedule")
	flags.BoolVar(&o.calm, "calm", false, "a network that delays, and nothing else")
	flags.IntVar(&o.workers, "parallel", runtime.GOMAXPROCS(0), "how many to run at a time")
	flags.BoolVar(&o.all, "all", false, "go on after a failure")
	onlyBarriers := flags.Bool("barriers", false, "use partial barriers, and nothing else")
	onlyGroups := flags.Bool("groups", false, "use groups that can be revoked, and nothing else")
	onlyWorkflows := flags.Bool("workflows", false, "use workflows, and nothing else")
	together := flags.Bool("together", false, "use workflows, and everything else")
	flags.StringVarP(&o.output, "output", "o", "text", "text or json")
	verbose := flags.BoolP("verbose", "v", false, "print everything that happens")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.output != "text" && o.output != "json" {
		return fmt.Errorf("--output is text or json, not %q", o.output)
	}
	o.some = flags.Changed("only")
	if *verbose {
		o.trace, o.workers = out, 1
	}
	o.services = []sim.Kind{barriers.Kind, groups.Kind}
	for _, only := range []struct {
		is   bool
		kind sim.Kind
	}{{*onlyBarriers, barriers.Kind}, {*onlyGroups, groups.Kind}, {*onlyWorkflows, workflows.Kind}} {
		switch {
		case only.is && o.alone:
			return errors.New("--barriers, --groups and --workflows exclude each other")
		case only.is:
			o.alone, o.services = true, []sim.Kind{only.kind}
		}
	}
	if *together {
		if o.alone {
			return errors.New("--together is without another kind alone")
		}
		o.services = append(o.services, workflows.Kind)
	}
	sum := collect(o, start(ctx, o), progress)
	if o.output == "json" {
		return sum.writeJSON(out)
	}
	return sum.write(out)
}

// config is a run of these options.
func (o options) config(seed uint64) sim.Config {
	cfg := sim.Config{Seed: seed, Calm: o.calm, Trace: o.trace, Services: o.services, Alone: o.alone}
	if o.some {
		cfg.Only = append([]int{}, o.only...)
	}
	return cfg
}

// start runs the seeds beside the caller.
func start(ctx context.Context, o options) <-chan sim.Result {
	results := make(chan sim.Result)
	var next atomic.Uint64
	var failed atomic.Bool
	var wg sync.WaitGroup
	for range max(1, o.workers) {
		wg.Go(func() {
			for ctx.Err() == nil && (o.all || !failed.Load()) {
				i := next.Add(1) - 1
				if i >= o.seeds {
					return
				}
				r := sim.Run(o.config(o.first + i))
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
	return results
}

// totals is what all runs have met together.
type totals struct {
	options
	runs, steps int
	time, took  time.Duration
	met         map[string]int // runs in which it was met
	failed      []sim.Result   // in the order in which they were found
}

// collect takes the results as they come.
func collect(o options, results <-chan sim.Result, progress io.Writer) *totals {
	began, told := time.Now(), time.Now()
	t := &totals{options: o, met: map[string]int{}}
	tell := func(end string) {
		fmt.Fprintf(progress, "\r%d of %d seeds, %d steps, %.0f seeds/s, %d failed %s", t.runs, o.seeds, t.steps,
			float64(t.runs)/time.Since(began).Seconds(), len(t.failed), end)
	}
	for r := range results {
		t.runs++
		t.steps += r.Steps
		t.time += r.Time
		for what := range r.Met {
			t.met[what]++
		}
		if r.Err != nil {
			t.failed = append(t.failed, r)
		}
		if time.Since(told) >= time.Second {
			told = time.Now()
			tell("")
		}
	}
	t.took = time.Since(began)
	tell("\n")
	return t
}

// groups returns what was met: faults, rare paths, and the rest. What should be
// met and was not counts 0.
func (t *totals) groups() (faults, rare, other map[string]int) {
	faults, rare, other = map[string]int{}, map[string]int{}, map[string]int{}
	if !t.alone {
		for _, what := range sim.Rare() {
			rare[what] = t.met[what]
		}
	}
	for _, what := range sim.Faults() {
		faults[what] = t.met[what]
	}
	for what, n := range t.met {
		_, fault := faults[what]
		if _, known := rare[what]; !known && !fault {
			other[what] = n
		}
	}
	return faults, rare, other
}

// failure is a broken invariant, made small.
type failure struct {
	Seed   uint64   `json:"seed"`
	Error  string   `json:"error"`
	Script []string `json:"script"`
	Replay string   `json:"replay"`
}

func (t *totals) shrunk(r sim.Result) failure {
	cfg, small := sim.Shrink(t.config(r.Seed), r)
	return failure{r.Seed, small.Err.Error(), small.Script, "go run ./cmd/sim " + cfg.Replay() + " -v"}
}

func (t *totals) write(out io.Writer) error {
	fmt.Fprintf(out, "%d runs, %v simulated, %d steps, in %v\n", t.runs, t.time.Round(time.Second), t.steps, t.took.Round(time.Millisecond))
	faults, rare, other := t.groups()
	for _, g := range []struct {
		name string
		met  map[string]int
	}{{"faults", faults}, {"rare paths", rare}, {"also", other}} {
		fmt.Fprintf(out, "%s, and in how many runs they were met:\n", g.name)
		for _, what := range slices.Sorted(maps.Keys(g.met)) {
			fmt.Fprintf(out, "%9d  %s\n", g.met[what], what)
		}
	}
	for _, r := range t.failed {
		fmt.Fprintf(out, "seed %d: %v\n", r.Seed, r.Err)
	}
	if len(t.failed) == 0 {
		return nil
	}
	f := t.shrunk(t.failed[0])
	fmt.Fprintf(out, "the first, made small:\n%s\n%s\nreplay: %s\n", strings.Join(f.Script, "\n"), f.Error, f.Replay)
	return fmt.Errorf("%d of %d runs failed, the first with seed %d", len(t.failed), t.runs, t.failed[0].Seed)
}

func (t *totals) writeJSON(out io.Writer) error {
	faults, rare, other := t.groups()
	doc := struct {
		Runs      int            `json:"runs"`
		Steps     int            `json:"steps"`
		Simulated float64        `json:"simulatedSeconds"`
		Took      float64        `json:"tookSeconds"`
		Faults    map[string]int `json:"faults"`
		Rare      map[string]int `json:"rarePaths"`
		Other     map[string]int `json:"other"`
		Failed    []failure      `json:"failed"`
		OK        bool           `json:"ok"`
	}{t.runs, t.steps, t.time.Seconds(), t.took.Seconds(), faults, rare, other, []failure{}, len(t.failed) == 0}
	for i, r := range t.failed {
		f := failure{Seed: r.Seed, Error: r.Err.Error(), Script: r.Script, Replay: "go run ./cmd/sim " + t.config(r.Seed).Replay() + " -v"}
		if i == 0 {
			f = t.shrunk(r)
		}
		doc.Failed = append(doc.Failed, f)
	}
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return err
	}
	if len(t.failed) > 0 {
		return fmt.Errorf("%d of %d runs failed", len(t.failed), t.runs)
	}
	return nil
}
