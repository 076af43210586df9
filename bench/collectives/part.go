package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx/internal/bench"
)

var systems = []string{"phalanx", "openmpi", "gloo"}

// part is the measurements on one kind of bed.
type part struct {
	Name     string // empty: described by flags
	About    string
	Systems  []string
	Ops      []string
	Nodes    []int
	Sizes    []int64
	Rate     int64 // bits per second; 0: no limit
	Interval time.Duration
	Slow     int64
	Runs     int
}

const (
	kb = 1 << 10
	mb = 1 << 20

	shaped = 400_000_000 // bits per second
)

// parts are the measurements without flags.
var parts = []part{
	{Name: "collectives", About: "Every link has 400 Mbit/s in each direction.", Systems: systems,
		Ops: []string{bench.Broadcast, bench.Gather, bench.Reduce, bench.AllReduce}, Nodes: []int{4, 8, 16}, Sizes: []int64{kb, 32 * kb, mb, 32 * mb, 128 * mb}, Rate: shaped, Runs: 5},
	{Name: "roundtrip", About: "Two of three nodes; every link has 400 Mbit/s in each direction.", Systems: []string{"phalanx", "openmpi"},
		Ops: []string{bench.RoundTrip}, Nodes: []int{3}, Sizes: []int64{kb, mb, 128 * mb}, Rate: shaped, Runs: 5},
	{Name: "directory", About: "One node of three asks another one, 500 times in a row: the median call of each run. A write is over when its backup, the third one, has it. Every link has 400 Mbit/s in each direction.",
		Systems: []string{"phalanx"}, Ops: directoryOps, Nodes: []int{3}, Sizes: []int64{0}, Rate: shaped, Runs: 5},
	{Name: "arrivals", About: "Nodes come one by one, 100 ms apart; every link has 400 Mbit/s in each direction.", Systems: systems,
		Ops: []string{bench.Broadcast, bench.Reduce, bench.AllReduce}, Nodes: []int{16}, Sizes: []int64{32 * mb}, Rate: shaped, Interval: 100 * time.Millisecond, Runs: 3},
	{Name: "slow", About: "One link of 16 has 40 Mbit/s, the others 400; the time is that of the other nodes.", Systems: []string{"phalanx"},
		Ops: []string{bench.Broadcast}, Nodes: []int{16}, Sizes: []int64{32 * mb, 128 * mb}, Rate: shaped, Slow: 10, Runs: 5},
	{Name: "unshaped", About: "Links are as fast as the machine makes them: this measures the CPU that each system takes.", Systems: systems,
		Ops: []string{bench.Broadcast, bench.Reduce, bench.AllReduce}, Nodes: []int{4, 8}, Sizes: []int64{128 * mb}, Runs: 5},
}

func partNames() []string {
	var names []string
	for _, p := range parts {
		names = append(names, p.Name)
	}
	return names
}

// only returns the part for some of its systems, and with another number of runs if
// that is not 0.
func (p part) only(systems []string, runs int) part {
	var kept []string
	for _, s := range p.Systems {
		if slices.Contains(systems, s) {
			kept = append(kept, s)
		}
	}
	p.Systems = kept
	if runs > 0 {
		p.Runs = runs
	}
	return p
}

func (p part) valid() error {
	switch {
	case slices.Min(p.Nodes) < 2 || slices.Max(p.Nodes) > 64:
		return fmt.Errorf("numbers of nodes are 2 to 64, not %v", p.Nodes)
	case p.Runs < 1 || p.Interval < 0:
		return fmt.Errorf("%d runs, %v apart", p.Runs, p.Interval)
	case p.Slow < 0 || p.Slow > 0 && (p.Rate == 0 || slices.Max(p.Nodes) < 3 || !slices.Equal(p.Ops, []string{bench.Broadcast}) || !slices.Equal(p.Systems, []string{"phalanx"})):
		return fmt.Errorf("a link can be slower only in a broadcast of phalanx among three or more, on links with a rate: the peers do not say when each node is done")
	}
	return nil
}
