// Collectives measures Phalanx beside OpenMPI and Gloo: the same work in one run, on
// hosts that are network namespaces with shaped links. It needs root on Linux, with
// ip and tc; and for the peers Debian's openmpi-bin libopenmpi-dev libgloo-dev gcc
// g++. It leaves out a peer that it cannot compile.
//
//	go run ./bench/collectives                                  # all parts
//	go run ./bench/collectives --parts roundtrip,arrivals       # some of them
//	go run ./bench/collectives --nodes 16 --ops broadcast,reduce --sizes 1MB,32MB
//	go run ./bench/collectives --nodes 16 --sizes 32MB --interval 100ms
//
// All nodes start at one instant, or with --interval one after the other. A broadcast
// or an allreduce is over when the last node has the result, the other operations when
// the first node has it. Inputs are in place before the start, each node is a process
// of its own, and checks every element of its results. A first run, which does not
// count, warms up. Nothing is encrypted.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/phalanx-go/phalanx/internal/bed"
	"github.com/phalanx-go/phalanx/internal/bench"
)

func main() {
	if config := os.Getenv(workerVar); config != "" {
		if err := beWorker(config); err != nil {
			log.Fatal(err)
		}
		return
	}
	log.SetFlags(0)
	chosen, out, err := flags(flag.CommandLine, os.Args[1:])
	if err == nil {
		err = bed.Missing()
	}
	if err != nil {
		log.Fatal(err)
	}
	r, failed := newReport(), error(nil)
	for _, p := range chosen {
		one, err := measure(p)
		r.Parts = append(r.Parts, one)
		if out != "" { // the results until now may be of use if a later part fails
			err = errors.Join(err, r.write(out))
		}
		if failed = errors.Join(failed, err); err != nil {
			log.Printf("%s: %v", p.Name, err)
		}
		if errors.Is(err, errInterrupted) {
			break
		}
	}
	fmt.Print(r.table())
	if failed != nil {
		os.Exit(1)
	}
}

var errInterrupted = errors.New("interrupted")

// flags returns the parts to measure: all, the named ones, or one that the other flags
// describe.
func flags(f *flag.FlagSet, args []string) (chosen []part, out string, err error) {
	var p part
	names := partNames()
	which := f.String("parts", strings.Join(names, ","), "parts to measure; flags for operations, nodes, sizes or links describe a part of their own instead")
	sys := f.String("systems", strings.Join(systems, ","), "systems to measure")
	do := f.String("ops", strings.Join(bench.Ops, ","), "operations")
	nodes := f.String("nodes", "4,8,16", "numbers of nodes")
	sizes := f.String("sizes", "1KB,32KB,1MB,32MB,128MB", "bytes of each node's input; 1KB is 1,024")
	rate := f.String("rate", "400mbit", "rate of each link, in each direction; none: no limit")
	f.DurationVar(&p.Interval, "interval", 0, "time between the starts of two nodes")
	f.Int64Var(&p.Slow, "slow", 0, "by how much the second node's link is slower; a broadcast is over when the others have it")
	f.IntVar(&p.Runs, "runs", 0, "runs of each, for the median (default: as the part says, or 5)")
	f.StringVar(&out, "out", "", "directory for results.json, table.md and plots")
	if err := f.Parse(args); err != nil {
		return nil, "", err
	}
	if p.Systems, err = parseAll(*sys, oneOf("system", systems)); err != nil {
		return nil, out, err
	}
	own, named := false, false
	f.Visit(func(set *flag.Flag) {
		own = own || slices.Contains([]string{"ops", "nodes", "sizes", "rate", "interval", "slow"}, set.Name)
		named = named || set.Name == "parts"
	})
	switch {
	case own && named:
		return nil, out, errors.New("--parts says itself which operations, nodes, sizes and links to measure")
	case !own:
		wanted, err := parseAll(*which, oneOf("part", names))
		if err != nil {
			return nil, out, err
		}
		if p.Runs < 0 {
			return nil, out, fmt.Errorf("--runs must not be negative: %d runs", p.Runs)
		}
		for _, one := range parts {
			if slices.Contains(wanted, one.Name) {
				chosen = append(chosen, one.only(p.Systems, p.Runs))
			}
		}
		return chosen, out, nil
	}
	if p.Ops, err = parseAll(*do, oneOf("operation", bench.Ops)); err != nil {
		return nil, out, err
	}
	if p.Nodes, err = parseAll(*nodes, strconv.Atoi); err != nil {
		return nil, out, err
	}
	if p.Sizes, err = parseAll(*sizes, parseSize); err != nil {
		return nil, out, err
	}
	if p.Rate, err = parseRate(*rate); err != nil {
		return nil, out, err
	}
	if p.Runs == 0 {
		p.Runs = 5
	}
	return []part{p}, out, p.valid()
}

// jobs returns the jobs for n nodes. Large ones run less often.
func (p part) jobs(n int) []job {
	var all []job
	for _, op := range p.Ops {
		for _, size := range p.Sizes {
			runs := p.Runs
			if size >= 64<<20 || op == bench.Gather && size >= 16<<20 {
				runs = max(1, runs*3/5)
			}
			if op == bench.Gather && size >= 64<<20 {
				continue // no host here has enough memory for the first node
			}
			all = append(all, job{Op: op, Nodes: n, Size: size, Interval: p.Interval, Slow: p.Slow, Runs: runs})
		}
	}
	return all
}

// measure has all systems do everything, in turn.
func measure(p part) (*result, error) {
	r := newResult(p)
	defer r.sum()
	dir, err := os.MkdirTemp("", "phalanx-bench")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	programs := peers{dir: dir, sources: filepath.Join("bench", "peers")}
	able := []string{}
	for _, s := range p.Systems {
		if s != "phalanx" {
			if err := programs.compile(s); err != nil {
				log.Printf("without %s: %v", s, err)
				continue
			}
		}
		able = append(able, s)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	for _, n := range p.Nodes {
		b, err := bed.New(bed.Config{Hosts: n, Rate: p.Rate})
		if err != nil {
			return r, err
		}
		if p.Slow > 0 {
			if err := b.Slow(slowNode, p.Slow); err != nil {
				return r, errors.Join(err, b.Close())
			}
		}
		for _, s := range able {
			select {
			case <-stop:
				return r, errors.Join(errInterrupted, b.Close())
			default:
			}
			if s == "phalanx" {
				err = runPhalanx(b, p.jobs(n), r.add)
			} else {
				err = programs.run(b, s, p.jobs(n), r.add)
			}
			if err != nil {
				log.Println(err)
			}
		}
		if err := b.Close(); err != nil {
			return r, err
		}
	}
	return r, nil
}
