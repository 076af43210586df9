package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/soak"
)

// soakConfig has the values of soak's flags.
type soakConfig struct {
	nodes     int
	time      time.Duration
	seed      uint64
	workflows bool
	faults    []string // of workflows; nil: all that this machine can cause
	next      string   // another build, to which nodes of workflows are upgraded
}

// The limits of the flags of soak. A machine does not carry more nodes well.
const (
	soakMost     = 32
	soakShortest = 4 * time.Second

	workflowNodes = 5 // by default
)

func (a *app) soakCommand() *cobra.Command {
	var cfg soakConfig
	cmd := &cobra.Command{
		Use:     "soak",
		Short:   "Work a cluster for a long time while its nodes die, and check everything",
		GroupID: nodes,
		Args:    cobra.NoArgs,
		Long: `Soak starts a cluster of processes on this machine and has them put, get, open,
prefetch, delete and reduce at random, while they are killed, stopped for a while,
leave and join, one at a time. Memory is short, so that nodes evict copies while
slow readers are in others. It checks every byte, every sum against the sources
in it, that every call ends by its deadline and fails only for a fault that was
made, and that the history of each object is linearizable. Every minute faults
stop: then all calls must finish, soak deletes all objects, and no process may keep
memory of them, or have grown. Soak also fails if a node is removed
without a fault, unless that node or the driver stood still, and if a node cannot
leave in good order, unless the host of a virtual machine gave a fifth of the
cores' time to others.

With --workflows the processes run workflows, with folders: graphs of up to 100 tasks at
random, whose hash must be that of a plain run and each of whose effects must be there once,
trips on a store with locks, whose books must balance, and medleys of reduces, limits, sleeps
and signals. The driver keeps the effects. It kills processes (kill), has them leave (leave), stops them for shorter and longer than it takes others to
notice (stop), kills all at once and starts them again (restart), and empties one disk of the
ledger and waits until another one has taken its place (disk). It upgrades node after
node to another version of a task (upgrade), and has runs of the old version go on with
the new one. As root it also cuts
links (cut) and has a disk be full (full). A run must end within 3 minutes. Every minute all
runs must have been forgotten everywhere, and memory and folders must not have grown.
Four of the nodes have a folder.

It prints a line every 10 s. It exits with 0 only if every check passed; else it
prints the failed checks and the last lines of each process. The seed determines
the choices; their effects depend on timing, too.`,
		Example: "  phalanx soak --for 10m\n  phalanx soak --for 1h --nodes 8 --seed 7 -o json\n  phalanx soak --workflows --for 1h\n  phalanx soak --workflows --faults restart --for 10m",
	}
	cmd.RunE = action(func(ctx context.Context, _ []string) error {
		switch {
		case cfg.faults != nil && !cfg.workflows:
			return invalid("--faults is only for --workflows")
		case cfg.next != "" && !cfg.workflows:
			return invalid("--next is only for --workflows")
		case cfg.nodes < soak.MinNodes || cfg.nodes > soakMost:
			return invalid("--nodes: %d are not %d to %d", cfg.nodes, soak.MinNodes, soakMost)
		case cfg.time < soakShortest:
			return invalid("--for: %v is less than %v", cfg.time, soakShortest)
		}
		if !cmd.Flags().Changed("seed") {
			cfg.seed = uint64(rand.Uint32())
		}
		if !cfg.workflows {
			return a.soak(ctx, cfg)
		}
		for _, f := range cfg.faults {
			if !slices.Contains(soak.WorkflowFaults, f) {
				return invalid("--faults: there is no %q, but %s", f, strings.Join(soak.WorkflowFaults, ", "))
			}
		}
		if !cmd.Flags().Changed("nodes") {
			cfg.nodes = workflowNodes
		}
		return a.soakWorkflows(ctx, cfg)
	})
	cmd.Flags().IntVar(&cfg.nodes, "nodes", 8, "how many nodes, each a process (with --workflows the default is 5)")
	cmd.Flags().DurationVar(&cfg.time, "for", 10*time.Minute, "how long; calls that run then still end")
	cmd.Flags().Uint64Var(&cfg.seed, "seed", 0, "seed of all choices (default another one each time)")
	cmd.Flags().BoolVar(&cfg.workflows, "workflows", false, "soak workflows in place of the store")
	cmd.Flags().StringSliceVar(&cfg.faults, "faults", nil, "with --workflows: the kinds of faults (default all that this machine can cause)")
	cmd.Flags().StringVar(&cfg.next, "next", "", "with --workflows: another build of this program, which nodes run after every other upgrade (default this one)")
	cmd.AddCommand(a.soakNodeCommand())
	return cmd
}

// soakNodeCommand is the command of the child processes.
func (a *app) soakNodeCommand() *cobra.Command {
	var name string
	var seeds []string
	var workflows string
	cmd := &cobra.Command{
		Use:    "node",
		Short:  "A node of a soak, which ends with its parent",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: action(func(context.Context, []string) error {
			if workflows == "" {
				return soak.Node(name, seeds)
			}
			var n soak.WorkflowNode
			if err := json.Unmarshal([]byte(workflows), &n); err != nil {
				return invalid("--workflows: %v", err)
			}
			return n.Run()
		}),
	}
	cmd.Flags().StringVar(&name, "name", "", "name of the node")
	cmd.Flags().StringSliceVar(&seeds, "seeds", nil, "whom to join")
	cmd.Flags().StringVar(&workflows, "workflows", "", "a node of workflows, as JSON")
	return cmd
}

func (a *app) soak(ctx context.Context, cfg soakConfig) error {
	return a.soaks(cfg, func(exe string, said func(time.Duration, fmt.Stringer)) (any, []string, func(io.Writer), error) {
		res, err := soak.Run(ctx, soak.Config{Nodes: cfg.nodes, For: cfg.time, Seed: cfg.seed,
			Command: func(name string, seeds []string) *exec.Cmd {
				return a.soakNode(exe, "--name="+name, "--seeds="+strings.Join(seeds, ","))
			},
			Report: func(p soak.Progress) { said(p.At, p) }})
		return res, res.Wrong, func(out io.Writer) { soakText(out, res) }, err
	})
}

// soakNode is the command of a child process.
func (a *app) soakNode(exe string, flags ...string) *exec.Cmd {
	cmd := exec.Command(exe, append([]string{"soak", "node"}, flags...)...)
	cmd.Env = a.environ
	return cmd
}

// soaks reports what run says meanwhile, and its result.
func (a *app) soaks(cfg soakConfig, run func(exe string, said func(time.Duration, fmt.Stringer)) (res any, wrong []string, text func(io.Writer), err error)) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	bar := a.count("soak", int(cfg.time.Seconds()))
	defer bar.end()
	out := a.stdout
	if a.output == "json" { // which is for the result
		out = a.stderr
	}
	last := time.Duration(0)
	fmt.Fprintf(out, "%d nodes, for %v, seed %d\n", cfg.nodes, cfg.time, cfg.seed)
	res, wrong, text, err := run(exe, func(at time.Duration, p fmt.Stringer) {
		if at-last >= soakEvery {
			last = at
			bar.hide()
			fmt.Fprintln(out, p)
		}
		bar.set(min(int(at.Seconds()), int(cfg.time.Seconds())))
	})
	bar.end()
	if err == nil && len(wrong) > 0 {
		err = &phalanx.Error{Op: "soak", Kind: phalanx.ErrInternal, Err: fmt.Errorf("something was wrong, with seed %d: %s", cfg.seed, strings.Join(wrong, "\n"))}
	}
	if a.output == "json" {
		return errors.Join(err, a.json(a.stdout, res))
	}
	text(out)
	return err
}

// soakEvery is how often a line is printed.
const soakEvery = 10 * time.Second

// soakText writes a result for people.
func soakText(w io.Writer, r soak.Result) {
	for _, e := range r.Events {
		fmt.Fprintln(w, e)
	}
	fmt.Fprintf(w, "operations   %s\nright errors %s\nfaults       %s\n", soak.Counts(r.Operations), soak.Counts(r.Errors), soak.Counts(r.Faults))
	fmt.Fprintf(w, "histories    %d calls on %d objects have an order, %d undecided\n", r.Judged, r.Histories, r.Undecided)
	fmt.Fprintf(w, "evictions    %d copies at least\n", r.Evicted)
	for _, name := range slices.Sorted(maps.Keys(r.End)) {
		was, is := r.Start[name], r.End[name]
		fmt.Fprintf(w, "%-12s %d copies, %d bytes, %d → %d goroutines, %d → %d file descriptors, %.1f → %.1f MB of heap\n", name, is.Objects, is.Memory,
			was.Goroutines, is.Goroutines, was.Descriptors, is.Descriptors, float64(was.Heap)/(1<<20), float64(is.Heap)/(1<<20))
	}
	stolenText(w, r.Stolen)
	if r.OK {
		fmt.Fprintf(w, "ok: everything was right, in %.1f s\n", r.Seconds)
	}
}

func stolenText(w io.Writer, share float64) {
	if share > 0.01 {
		fmt.Fprintf(w, "stolen       %.0f %% of the cores' time, by the host of this machine\n", 100*share)
	}
}
