package cluster_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/children/nodes"
)

// The benchmarks run this binary again as the nodes of a cluster, one process
// each. The process of the benchmark itself is no node: it gives orders, and gets
// a report for each.

const (
	memoryVar  = "PHALANX_BENCH_MEMORY"  // the Memory and Warm of each node
	profileVar = "PHALANX_BENCH_PROFILE" // a folder for a CPU profile of each process
)

// runNode is the main of a node's process.
func runNode(place string) error {
	var memory, warm int64
	if _, err := fmt.Sscan(os.Getenv(memoryVar), &memory, &warm); err != nil {
		return fmt.Errorf("%s: %w", memoryVar, err)
	}
	defer pprof.StopCPUProfile()
	config := func(name string) cluster.Config { return cluster.Config{Name: name, Memory: memory, Warm: warm} }
	return nodes.Be(place, time.Minute, config, func(_ context.Context, self *nodes.Self[report]) func(order) {
		if dir := os.Getenv(profileVar); dir != "" {
			startProfile(dir, self.ID().Name())
		}
		return func(o order) {
			r, err := o.carryOut(self.Node)
			if err != nil {
				r.Err = err.Error()
			}
			self.Report(r)
		}
	})
}

func startProfile(dir, name string) {
	f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%s-%d.pprof", name, os.Getpid())))
	if err == nil {
		err = pprof.StartCPUProfile(f)
	}
	if err != nil {
		panic(err)
	}
}

// process is a node in a process of its own.
type process struct {
	*nodes.Node[order, report]
	b testing.TB
}

// launch starts a cluster of k processes. They end with the benchmark, or by
// the function that it returns.
func launch(b testing.TB, k int, memory, warm int64) ([]*process, func()) {
	b.Helper()
	b.Setenv(memoryVar, fmt.Sprint(memory, warm))
	var all []*process
	for _, n := range nodes.Launch[order, report](b, k) {
		all = append(all, &process{n, b})
	}
	stop := func() {
		for _, p := range all {
			p.Abandon()
			if err := p.Wait(within(b)); err != nil {
				b.Errorf("node %s: %v", p.ID, err)
			}
		}
	}
	b.Cleanup(stop)
	for _, p := range all { // with all members known, and a backup for each shard
		p.do(order{Do: "settle", Times: k})
	}
	return all, stop
}

// send gives an order; report awaits what came of it.
func (p *process) send(o order) {
	p.b.Helper()
	p.Tell(p.b, o)
}

func (p *process) report() report {
	p.b.Helper()
	r := p.Await(p.b)
	if r.Err != "" {
		p.b.Fatalf("node %s: %s", p.ID, r.Err)
	}
	return r
}

func (p *process) do(o order) report {
	p.b.Helper()
	p.send(o)
	return p.report()
}

// peak returns the most memory that the process ever had resident (VmHWM), in
// bytes: the Go runtime and the program's own pages included. 0 where the
// system does not tell.
func (p *process) peak() float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kb, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, _ := strconv.ParseFloat(kb, 64)
	return n * 1024
}

// ticks returns the processor time that the process has used, in hundredths of
// a second.
func (p *process) ticks() float64 {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID()))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	f := strings.Fields(rest)
	user, _ := strconv.ParseFloat(f[11], 64)
	system, _ := strconv.ParseFloat(f[12], 64)
	return user + system
}
