// Collectives measures Phalanx beside OpenMPI and Gloo: the same work in one run, on
// hosts that are network namespaces with shaped links. It needs root on Linux, with
// ip and tc; and for the peers Debian's openmpi-bin libopenmpi-dev libgloo-dev gcc
// g++. A peer that cannot be compiled is left out.
//
//	go run ./bench/collectives
//	go run ./bench/collectives --nodes 16 --ops broadcast,reduce --sizes 1MB,32MB --runs 5
//	go run ./bench/collectives --rate none --nodes 4,8 --sizes 128MB
//	go run ./bench/collectives --nodes 16 --sizes 32MB --interval 100ms
//	go run ./bench/collectives --nodes 16 --sizes 32MB --ops broadcast --systems phalanx --slow 10
//
// All start at one instant, or with --interval one after the other. A broadcast or
// an allreduce is over when the last node has the result, the others when the first
// node has it. Inputs are in place before the start, each node is a process of its
// own, every element of the results is checked, and one run before those that
// count warms up. Nothing is encrypted.
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
	"time"

	"github.com/phalanx-go/phalanx/internal/bed"
	"github.com/phalanx-go/phalanx/internal/bench"
)

var systems = []string{"phalanx", "openmpi", "gloo"}

// plan is what to measure.
type plan struct {
	Systems  []string
	Ops      []string
	Nodes    []int
	Sizes    []int64
	Rate     int64 // bits per second; 0: as fast as links are
	Interval time.Duration
	Slow     int64
	Runs     int
}

func main() {
	if config := os.Getenv(workerVar); config != "" {
		if err := beWorker(config); err != nil {
			log.Fatal(err)
		}
		return
	}
	log.SetFlags(0)
	p, out, err := flags()
	if err == nil {
		err = bed.Missing()
	}
	if err != nil {
		log.Fatal(err)
	}
	r, err := measure(p)
	if err != nil {
		log.Println(err) // what there is may still be of use
	}
	fmt.Print(r.table())
	if out != "" {
		if err := r.write(out); err != nil {
			log.Fatal(err)
		}
	}
	if err != nil {
		os.Exit(1)
	}
}

func flags() (p plan, out string, err error) {
	all := func(list []string) (s string) {
		for i, x := range list {
			if i > 0 {
				s += ","
			}
			s += x
		}
		return s
	}
	sys := flag.String("systems", all(systems), "what to measure")
	do := flag.String("ops", all(bench.Ops), "operations")
	nodes := flag.String("nodes", "4,8,16", "numbers of nodes")
	sizes := flag.String("sizes", "1KB,32KB,1MB,32MB,128MB", "bytes of each node's input; 1KB is 1,024")
	rate := flag.String("rate", "400mbit", "of each link, in each direction; none: as fast as links are")
	flag.DurationVar(&p.Interval, "interval", 0, "time between the starts of two nodes")
	flag.Int64Var(&p.Slow, "slow", 0, "by how much the second node's link is slower; a broadcast is over when the others have it")
	flag.IntVar(&p.Runs, "runs", 5, "runs of each, of which the median is taken")
	flag.StringVar(&out, "out", "", "directory for results.json, table.md and plots")
	flag.Parse()
	if p.Systems, err = parseAll(*sys, oneOf("system", systems)); err != nil {
		return p, out, err
	}
	if p.Ops, err = parseAll(*do, oneOf("operation", bench.Ops)); err != nil {
		return p, out, err
	}
	if p.Nodes, err = parseAll(*nodes, strconv.Atoi); err != nil {
		return p, out, err
	}
	if p.Sizes, err = parseAll(*sizes, parseSize); err != nil {
		return p, out, err
	}
	if p.Rate, err = parseRate(*rate); err != nil {
		return p, out, err
	}
	switch {
	case slices.Min(p.Nodes) < 2 || slices.Max(p.Nodes) > 64:
		err = fmt.Errorf("numbers of nodes are 2 to 64, not %v", p.Nodes)
	case p.Runs < 1 || p.Interval < 0:
		err = fmt.Errorf("%d runs, %v apart", p.Runs, p.Interval)
	case p.Slow < 0 || p.Slow > 0 && (p.Rate == 0 || slices.Max(p.Nodes) < 3 || !slices.Equal(p.Ops, []string{bench.Broadcast}) || !slices.Equal(p.Systems, []string{"phalanx"})):
		err = fmt.Errorf("a link can be slower in a broadcast of phalanx among three or more, on links with a rate; the peers do not say when each node is done")
	}
	return p, out, err
}

// jobs are those for n nodes. Large ones run less often.
func (p plan) jobs(n int) []job {
	var all []job
	for _, op := range p.Ops {
		for _, size := range p.Sizes {
			runs := p.Runs
			if size >= 64<<20 || op == bench.Gather && size >= 16<<20 {
				runs = max(1, runs*3/5)
			}
			if op == bench.Gather && size >= 64<<20 {
				continue // no host here has the memory of a gathering one
			}
			all = append(all, job{Op: op, Nodes: n, Size: size, Interval: p.Interval, Slow: p.Slow, Runs: runs})
		}
	}
	return all
}

// measure has all systems do everything, in turn.
func measure(p plan) (*result, error) {
	r := newResult(p)
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
				return r, b.Close()
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
