package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/phalanx-go/phalanx"
)

// demoConfig has the values of demo's flags.
type demoConfig struct {
	nodes  int
	num    int
	file   string
	rounds int
	kill   int
}

// demoResult is the JSON output of demo.
type demoResult struct {
	Nodes     int           `json:"nodes"`
	Broadcast demoBroadcast `json:"broadcast"`
	Training  demoTraining  `json:"training"`
	Killed    []demoKilled  `json:"killed"`
	Recovery  []demoEvent   `json:"recovery"`
	OK        bool          `json:"ok"`
}

type demoBroadcast struct {
	Bytes    int64   `json:"bytes"`
	Seconds  float64 `json:"seconds"`
	OneByOne float64 `json:"one_by_one_seconds"`
	Verified bool    `json:"verified"`
}

type demoTraining struct {
	Rounds   int     `json:"rounds"`
	Num      int     `json:"num"`
	Accuracy float64 `json:"accuracy"`
	Verified bool    `json:"verified"`
}

// The limits of --nodes: a single node has no receiver, and more do not fit well into
// one machine.
const (
	demoFewest = 2
	demoMost   = 64
)

// demoPatience bounds each step, demoEnd the end of all nodes.
const (
	demoPatience = 2 * time.Minute
	demoEnd      = 20 * time.Second
)

func (a *app) demoCommand() *cobra.Command {
	var cfg demoConfig
	cmd := &cobra.Command{
		Use:     "demo",
		Short:   "Show broadcast, reduce and recovery on this machine, in less than a minute",
		GroupID: nodes,
		Long: `Demo starts a cluster of real processes (this one and --nodes - 1 others),
broadcasts a file to all of them and checks every copy, then trains a classifier
of handwritten digits: each node computes gradients on its part of the samples,
and each round adds up the first --num of them. Demo compares every sum with one
that it computes anew. With --kill some of the processes die by SIGKILL, the
first in the middle of the broadcast, the others each in the middle of a reduce,
and demo prints how the cluster recovers. It exits with 0 only if every check
passed. The classifier has to reach an accuracy of 0.90 only in runs of 30
rounds or more, with half of the gradients or more.`,
		Example: "  phalanx demo\n  phalanx demo --kill 2\n  phalanx demo --nodes 4 --file big.iso\n  phalanx demo -o json",
		Args:    cobra.NoArgs,
		RunE: action(func(ctx context.Context, _ []string) error {
			cfg, err := cfg.complete()
			if err != nil {
				return err
			}
			return a.demo(ctx, cfg)
		}),
	}
	cmd.Flags().IntVar(&cfg.nodes, "nodes", 8, "how many nodes, this process among them")
	cmd.Flags().StringVar(&cfg.file, "file", "", "file to broadcast (default this program)")
	cmd.Flags().IntVar(&cfg.num, "num", 0, "gradients that a round waits for (default three in four)")
	cmd.Flags().IntVar(&cfg.rounds, "rounds", 60, "rounds of training")
	cmd.Flags().IntVar(&cfg.kill, "kill", 0, "how many nodes die during the demo, never this process")
	cmd.AddCommand(a.demoNodeCommand())
	return cmd
}

// complete checks the given flags and fills in the rest.
func (c demoConfig) complete() (demoConfig, error) {
	if c.nodes < demoFewest || c.nodes > demoMost {
		return c, invalid("--nodes: %d are not %d to %d", c.nodes, demoFewest, demoMost)
	}
	if c.kill < 0 || c.kill > c.nodes-demoFewest {
		return c, invalid("--kill: %d are not 0 to %d: of %d nodes %d must be left", c.kill, c.nodes-demoFewest, c.nodes, demoFewest)
	}
	if c.num == 0 {
		c.num = min(c.nodes-c.nodes/4, c.nodes-c.kill)
	}
	if c.num > c.nodes-c.kill {
		return c, invalid("--num: %d gradients are more than the %d nodes that are left", c.num, c.nodes-c.kill)
	}
	if c.num < 1 || c.num > c.nodes {
		return c, invalid("--num: %d are not 1 to %d, the number of nodes", c.num, c.nodes)
	}
	if c.rounds < 1 || c.rounds > 100_000 {
		return c, invalid("--rounds: %d are not 1 to 100000", c.rounds)
	}
	if c.rounds < c.kill-1 {
		return c, invalid("--rounds: %d are fewer than the %d nodes that are to die after the first, each in a round of its own", c.rounds, c.kill-1)
	}
	if c.file == "" {
		exe, err := os.Executable()
		if err != nil {
			return c, err
		}
		c.file = exe
	}
	info, err := os.Stat(c.file)
	switch {
	case err != nil:
		return c, invalid("--file: %w", err)
	case !info.Mode().IsRegular():
		return c, invalid("--file: %s is not a regular file", c.file)
	}
	return c, nil
}

// demo runs all steps, and prints their results even if one failed.
func (a *app) demo(ctx context.Context, cfg demoConfig) error {
	res := demoResult{Nodes: cfg.nodes, Training: demoTraining{Num: cfg.num}, Killed: []demoKilled{}, Recovery: []demoEvent{}}
	began := time.Now()
	err := a.demoSteps(ctx, cfg, &res)
	res.OK = err == nil && res.Broadcast.Verified && res.Training.Verified
	if err == nil && !res.OK {
		err = &phalanx.Error{Op: "demo", Kind: phalanx.ErrInternal, Err: errors.New("not everything was verified")}
	}
	if a.output == "json" {
		return errors.Join(err, a.json(a.stdout, res))
	}
	if res.OK {
		a.say("result", "ok: everything was verified, in %.1f s", time.Since(began).Seconds())
	}
	return err
}

func (a *app) demoSteps(ctx context.Context, cfg demoConfig, res *demoResult) (err error) {
	c, err := a.startDemo(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() {
		if end := c.stop(); err == nil {
			err = end
		}
	}()
	ctx, cancel := c.watch(ctx)
	defer cancel()
	c.killer = a.newKiller(ctx, c, cfg)
	defer func() { res.Killed, res.Recovery = c.killer.stop() }()
	if res.Broadcast, err = a.demoBroadcast(ctx, cfg, c); err != nil {
		return cause(ctx, err)
	}
	res.Training, err = a.demoTraining(ctx, cfg, c)
	return cause(ctx, err)
}

// cause returns why ctx has ended, if err comes from that.
func cause(ctx context.Context, err error) error {
	if why := context.Cause(ctx); err != nil && why != nil && !errors.Is(why, context.Canceled) {
		return why
	}
	return err
}

// say prints the result of a step, for people.
func (a *app) say(step, format string, args ...any) {
	if a.output != "json" {
		fmt.Fprintf(a.stdout, "%-10s %s\n", step, fmt.Sprintf(format, args...))
	}
}
