package cluster_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/cluster"
)

// The benchmarks run this binary again as the nodes of a cluster, one process
// each. The process of the benchmark itself is no node: it sends orders to their
// standard input, one JSON value each, and gets a report for each. A process
// ends when its input does.

const (
	benchVar   = "PHALANX_BENCH_NODE"    // a nodeConfig
	profileVar = "PHALANX_BENCH_PROFILE" // a folder for a CPU profile of each process
)

type nodeConfig struct {
	Name   string
	Seed   string
	Memory int64
	Warm   int64
}

// runNode is the main of a node's process.
func runNode(config string) (err error) {
	var cfg nodeConfig
	if err := json.Unmarshal([]byte(config), &cfg); err != nil {
		return err
	}
	join := cluster.Config{Name: cfg.Name, Memory: cfg.Memory, Warm: cfg.Warm}
	if cfg.Seed != "" {
		join.Seeds = []string{cfg.Seed}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	n, err := cluster.Join(ctx, join)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Leave(context.Background())) }()
	if dir := os.Getenv(profileVar); dir != "" {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%s-%d.pprof", cfg.Name, os.Getpid())))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	if err := out.Encode(report{Addr: n.ControlAddr(), Node: n.ID()}); err != nil {
		return err
	}
	for {
		var o order
		if err := in.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		r, err := o.carryOut(n)
		if err != nil {
			r.Err = err.Error()
		}
		if err := out.Encode(r); err != nil {
			return err
		}
	}
}

// process is a node in a process of its own.
type process struct {
	b    testing.TB
	addr string
	id   string
	pid  int
	in   *json.Encoder
	out  *json.Decoder
}

// launch starts a cluster of k processes. They end with the benchmark, or by
// the function that it returns.
func launch(b testing.TB, k int, memory, warm int64) ([]*process, func()) {
	b.Helper()
	var all []*process
	var stops []func()
	stop := func() {
		for _, s := range slices.Backward(stops) {
			s()
		}
		stops = nil
	}
	b.Cleanup(stop)
	for i := range k {
		cfg := nodeConfig{Name: fmt.Sprintf("n%d", i+1), Memory: memory, Warm: warm}
		if i > 0 {
			cfg.Seed = all[0].addr
		}
		config, err := json.Marshal(cfg)
		if err != nil {
			b.Fatal(err)
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), benchVar+"="+string(config))
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		stops = append(stops, func() {
			_ = in.Close()
			if err := cmd.Wait(); err != nil {
				b.Errorf("node n%d: %v", i+1, err)
			}
		})
		p := &process{b: b, pid: cmd.Process.Pid, in: json.NewEncoder(in), out: json.NewDecoder(bufio.NewReader(out))}
		hello := p.report()
		p.addr, p.id = hello.Addr, string(hello.Node)
		all = append(all, p)
	}
	for _, p := range all { // with all members known, and a backup for each shard
		p.do(order{Do: "settle", Times: k})
	}
	return all, stop
}

// send gives an order; report awaits what came of it.
func (p *process) send(o order) {
	p.b.Helper()
	if err := p.in.Encode(o); err != nil {
		p.b.Fatal(err)
	}
}

func (p *process) report() report {
	p.b.Helper()
	var r report
	if err := p.out.Decode(&r); err != nil {
		p.b.Fatalf("a node's process: %v", err)
	}
	if r.Err != "" {
		p.b.Fatalf("node %s: %s", p.id, r.Err)
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
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
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
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	f := strings.Fields(rest)
	user, _ := strconv.ParseFloat(f[11], 64)
	system, _ := strconv.ParseFloat(f[12], 64)
	return user + system
}
