package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx/internal/bed"
	"github.com/phalanx-go/phalanx/internal/bench"
)

// peers has the compiled programs of the peers.
type peers struct {
	dir     string // of the programs and of the files of runs
	sources string
}

// compilers are the commands that make a peer's programs.
var compilers = map[string][][]string{
	"openmpi": {
		{"mpicc.openmpi", "-O2", "-o", "openmpi", "openmpi.c"},
		{"gcc", "-O2", "-shared", "-fPIC", "-o", "polite.so", "polite.c"},
	},
	"gloo": {{"g++", "-std=c++17", "-O2", "-o", "gloo", "gloo.cc", "-lgloo", "-lpthread"}},
}

// compile makes a peer's programs. An error has the compiler's message.
func (p peers) compile(name string) error {
	for _, line := range compilers[name] {
		args := append([]string{}, line[1:]...)
		for i, a := range args {
			switch {
			case i > 0 && args[i-1] == "-o":
				args[i] = filepath.Join(p.dir, a)
			case strings.HasSuffix(a, ".c"), strings.HasSuffix(a, ".cc"):
				args[i] = filepath.Join(p.sources, a)
			}
		}
		if out, err := exec.Command(line[0], args...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", line[0], err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}

// variants are the peer's operations that do one of ours.
func variants(peer string, op string) []string {
	switch {
	case peer == "gloo" && op == bench.AllReduce:
		return []string{"allreduce", "allreduce-chunked", "allreduce-halving"}
	case peer == "gloo" && op == bench.RoundTrip:
		return nil
	}
	return []string{op}
}

// silence is how long a peer may say nothing before try gives it up: longer than the
// longest run.
const silence = 2 * time.Minute

// run has a peer do the jobs, which are for the same number of nodes. A peer that hangs
// before it has begun, as mpirun does at times, gets another chance.
func (p peers) run(b *bed.Bed, peer string, jobs []job, each func(sample)) error {
	said := false
	heard := func(s sample) { said = true; each(s) }
	err := p.try(b, peer, jobs, heard)
	if err != nil && !said {
		err = p.try(b, peer, jobs, heard)
	}
	return err
}

func (p peers) try(b *bed.Bed, peer string, jobs []job, each func(sample)) error {
	var args []string
	of := map[string]job{} // by the beginning of a line
	for _, j := range jobs {
		for _, v := range variants(peer, j.Op) {
			ms := float64(j.Interval) / float64(time.Millisecond)
			args = append(args, fmt.Sprintf("%s:%d:%d:%g", v, j.Size, j.Runs, ms))
			of[fmt.Sprintf("%s %d %d %g", v, j.Nodes, j.Size, ms)] = j
		}
	}
	if len(args) == 0 {
		return nil
	}
	n := jobs[0].Nodes
	dir, err := os.MkdirTemp(p.dir, "run")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	quiet := time.AfterFunc(silence, func() { cancel(fmt.Errorf("the peer has said nothing for %v", silence)) })
	defer quiet.Stop()
	var commands []*exec.Cmd
	if peer == "openmpi" {
		mpi, err := p.mpirun(b, n, dir)
		if err != nil {
			return err
		}
		commands = append(commands, b.CommandContext(ctx, 0, mpi[0], append(mpi[1:], args...)...))
	} else {
		store := filepath.Join(dir, "store")
		if err := os.Mkdir(store, 0o755); err != nil {
			return err
		}
		for i := range n {
			line := append([]string{fmt.Sprint(i), fmt.Sprint(n), store}, args...)
			commands = append(commands, b.CommandContext(ctx, i, filepath.Join(p.dir, "gloo"), line...))
		}
	}
	var group sync.WaitGroup
	errs := make([]error, len(commands))
	for i, cmd := range commands {
		cmd.Env = append(os.Environ(), "BENCH_MEETING="+filepath.Join(dir, "meeting"))
		group.Go(func() {
			errs[i] = eachLine(cmd, func(line string) {
				quiet.Reset(silence)
				if s, ok := parseLine(peer, line, of); ok {
					each(s)
				}
			})
			if errs[i] != nil {
				cancel(nil) // the others would wait for it
			}
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%s: %w", peer, errors.Join(context.Cause(ctx), err))
	}
	return nil
}

// eachLine runs a command, and calls f with each line of its output.
func eachLine(cmd *exec.Cmd, f func(string)) error {
	var failed strings.Builder
	cmd.Stderr = &failed
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		f(lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(failed.String()))
	}
	return nil
}

func parseLine(peer, line string, of map[string]job) (sample, bool) {
	w := strings.Fields(line)
	if len(w) != 8 {
		return sample{}, false
	}
	j, ok := of[strings.Join(w[:4], " ")]
	s := sample{System: peer, job: j}
	if w[0] != j.Op {
		s.Variant = w[0]
	}
	if _, err := fmt.Sscan(strings.Join(w[4:], " "), &s.Run, &s.Last, &s.Root, &s.Late); err != nil {
		return s, false
	}
	return s, ok
}

// mpirun returns the beginning of the command that starts OpenMPI on the hosts. A
// script stands in for ssh.
func (p peers) mpirun(b *bed.Bed, n int, dir string) ([]string, error) {
	var hosts, agent strings.Builder
	agent.WriteString("#!/bin/sh\nwhile [ \"${1#-}\" != \"$1\" ]; do shift; done\nhost=$1; shift\ncase $host in\n")
	for i := range n {
		// The hosts share one name: their daemons' files must not be in one directory.
		own := filepath.Join(dir, fmt.Sprint("host", i))
		if err := os.Mkdir(own, 0o755); err != nil {
			return nil, err
		}
		fmt.Fprintf(&hosts, "%s slots=1\n", b.Addr(i))
		fmt.Fprintf(&agent, "%s) TMPDIR=%s exec %s \"$*\" ;;\n", b.Addr(i), own, strings.Join(b.Command(i, "sh", "-c").Args, " "))
	}
	agent.WriteString("*) echo \"there is no host $host\" >&2; exit 1 ;;\nesac\n")
	if err := os.WriteFile(filepath.Join(dir, "hosts"), []byte(hosts.String()), 0o644); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "agent"), []byte(agent.String()), 0o755); err != nil {
		return nil, err
	}
	network := "10.99.0.0/24"
	return []string{"mpirun.openmpi", "--allow-run-as-root", "-np", fmt.Sprint(n), "--hostfile", filepath.Join(dir, "hosts"), "--bind-to", "none",
		"--mca", "plm_rsh_agent", filepath.Join(dir, "agent"), "--mca", "plm_rsh_no_tree_spawn", "1", "--mca", "plm_rsh_num_concurrent", "32",
		"--mca", "btl", "tcp,self", "--mca", "pml", "ob1", "--mca", "btl_tcp_if_include", network, "--mca", "oob_tcp_if_include", network,
		"--mca", "mpi_yield_when_idle", "1", "-x", "BENCH_MEETING", "-x", "LD_PRELOAD=" + filepath.Join(p.dir, "polite.so"),
		filepath.Join(p.dir, "openmpi")}, nil
}
