// Barriers repeats the experiments of the papers on partial barriers and on revoke: two
// barriers in a row with a central manager and with a tree, the refinement (EMAN), the start
// of a file distribution (Bullet), MapReduce, and collectives after a revoke. It does each
// several times and prints means, deviations and 90th percentiles beside the papers' numbers.
//
//	go run ./bench/barriers                          # all parts, some half an hour
//	go run ./bench/barriers --parts two --hosts 100  # one of them
//	go run ./bench/barriers --out bench/results/…    # leaves table.md, results.json with every run, and plots
//
// Run it in this repository, as parts of it run examples and a benchmark of package group. It
// scales experiments that take minutes in the paper: with --scale 100 a second of the paper
// takes 10 ms of real time. No time is simulated: everything runs on real nodes of one
// machine.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"
)

// options are the flags.
type options struct {
	parts []string
	runs  int
	nodes int
	hosts []int // of two barriers in a row
	delay time.Duration
	scale int
	out   string
	json  bool
}

func main() {
	log.SetFlags(0)
	if config := os.Getenv(nodeVar); config != "" {
		if err := beNode(config); err != nil {
			log.Fatal(err)
		}
		return
	}
	o, err := flags(flag.CommandLine, os.Args[1:])
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r := newReport(os.Args[1:])
	failed := r.run(ctx, o)
	if o.json {
		failed = errors.Join(failed, json.NewEncoder(os.Stdout).Encode(r))
	} else {
		fmt.Print(r.table())
	}
	if failed != nil {
		log.Fatal(failed)
	}
}

// run measures all parts, also after one has failed.
func (r *report) run(ctx context.Context, o options) (failed error) {
	for _, p := range parts {
		if !slices.Contains(o.parts, p.name) {
			continue
		}
		one, err := p.run(ctx, o)
		r.Parts = append(r.Parts, one)
		if o.out != "" { // the results until now may be of use if a later part fails
			err = errors.Join(err, r.write(o.out))
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", p.name, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return failed
}

func flags(f *flag.FlagSet, args []string) (o options, err error) {
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	which := f.String("parts", strings.Join(names, ","), "parts to measure")
	hosts := f.String("hosts", "10,20,30,40,50,60,70,80,90,100,130", "numbers of hosts of two barriers in a row")
	output := f.String("o", "text", "how to print: text or json")
	f.IntVar(&o.runs, "runs", 10, "runs of each case")
	f.IntVar(&o.nodes, "nodes", 8, "nodes that the hosts are on")
	f.DurationVar(&o.delay, "delay", 40*time.Millisecond, "one way between two hosts, on average, where delays are injected")
	f.IntVar(&o.scale, "scale", 100, "by how much times are shorter than in the paper")
	f.StringVar(&o.out, "out", "", "directory for table.md, results.json and plots")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.parts, o.json = strings.Split(*which, ","), *output == "json"
	for _, p := range o.parts {
		if !slices.Contains(names, p) {
			return o, fmt.Errorf("there is no part %q: there are %s", p, strings.Join(names, ", "))
		}
	}
	for _, text := range strings.Split(*hosts, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 2 || n > 1000 {
			return o, fmt.Errorf("--hosts: %q is not 2 to 1,000", text)
		}
		o.hosts = append(o.hosts, n)
	}
	switch {
	case *output != "text" && *output != "json":
		return o, fmt.Errorf("-o %s: must be text or json", *output)
	case o.runs < 1 || o.nodes < 3 || o.nodes > 30 || o.delay < 0 || o.scale < 1 || o.scale > 1000:
		return o, errors.New("--runs must be 1 or more, --nodes 3 to 30, --delay not negative, and --scale 1 to 1,000")
	}
	return o, nil
}
