package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/bed"
	"github.com/phalanx-go/phalanx/internal/children"
	"github.com/phalanx-go/phalanx/internal/steal"
)

// process is a node process as the benchmark sees it.
type process struct {
	*children.Child
	host    int // of the bed
	id      phalanx.NodeID
	addr    string
	members map[phalanx.NodeID]bool
	leader  phalanx.NodeID
	voters  []phalanx.NodeID
}

type told struct {
	by *process
	line
}

type bench struct {
	o     options
	lines chan told
	nodes []*process
	bed   *bed.Bed // nil: all processes are on this host
	free  []int    // hosts without a process
}

const (
	patience = 30 * time.Second // of every wait
	robbed   = 0.1              // a trial that lost this share of the cores' time measures the host, not the nodes
)

func measure(o options) (result, error) {
	b := &bench{o: o, lines: make(chan told, 10_000)}
	defer b.stop()
	if o.bed {
		var err error
		if b.bed, err = bed.New(bed.Config{Hosts: o.nodes + 1}); err != nil {
			return result{}, err
		}
		defer func() { _ = b.bed.Close() }()
		b.free = b.bed.Hosts()
	}
	defer burn(o.busy)()
	r := result{Fault: o.fault, Victim: o.victim, Busy: o.busy, Bed: o.bed, Nodes: o.nodes}
	var down, own, suspected []time.Duration
	for r.Trials < o.trials {
		if err := b.fill(); err != nil {
			return r, err
		}
		stolen := steal.Total()
		out, first, wrong, err := b.trial()
		if err != nil {
			return r, err
		}
		if steal.Share(steal.Total()-stolen, out) > robbed {
			r.Stolen++
		} else {
			own = append(own, out)
		}
		down, suspected = append(down, out), append(suspected, first)
		r.False += wrong
		r.Trials++
		fmt.Fprintf(os.Stderr, "\r%d of %d: %v ", r.Trials, o.trials, out)
	}
	fmt.Fprintln(os.Stderr)
	r.P50, r.P99, r.Max, r.Own99, r.Suspect = quantile(down, 0.5), quantile(down, 0.99), quantile(down, 1), quantile(own, 0.99), quantile(suspected, 0.5)
	return r, nil
}

// burn keeps each core busy with n processes.
func burn(n int) (stop func()) {
	var all []*exec.Cmd
	for range n * runtime.NumCPU() {
		cmd := exec.Command("sh", "-c", "while :; do :; done")
		if cmd.Start() == nil {
			all = append(all, cmd)
		}
	}
	return func() {
		for _, cmd := range all {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
}

func (b *bench) stop() {
	for _, p := range b.nodes {
		_ = p.Kill()
	}
}

// start adds a node process.
func (b *bench) start() error {
	args := []string{"-first"}
	if len(b.nodes) > 0 {
		args = []string{"-node", b.nodes[0].addr}
	}
	p := &process{members: map[phalanx.NodeID]bool{}}
	cmd := exec.Command(os.Args[0], args...)
	if b.bed != nil {
		p.host, b.free = b.free[0], b.free[1:]
		cmd = b.bed.Command(p.host, os.Args[0], append([]string{"-bind", b.bed.Addr(p.host)}, args...)...)
	}
	cmd.Stderr = os.Stderr
	var err error
	if p.Child, err = children.Talk(cmd, func(l line) { b.lines <- told{p, l} }); err != nil {
		return err
	}
	b.nodes = append(b.nodes, p)
	return b.until("the new node has joined", func() bool { return p.addr != "" })
}

// take notes one line of a node.
func (b *bench) take(t told) {
	switch t.What {
	case "ready":
		t.by.id, t.by.addr = t.Node, t.Addr
	case "joined":
		t.by.members[t.Node] = true
	case "down":
		delete(t.by.members, t.Node)
	case "leader":
		t.by.leader, t.by.voters = t.Node, t.Voters
	}
}

func (b *bench) until(what string, ok func() bool) error {
	end := time.After(patience)
	for !ok() {
		select {
		case t := <-b.lines:
			b.take(t)
		case <-end:
			return fmt.Errorf("after %v this does not hold yet: %s", patience, what)
		}
	}
	return nil
}

// fill starts nodes until there are enough, and waits until all agree on members and voters.
func (b *bench) fill() error {
	for len(b.nodes) < b.o.nodes {
		if err := b.start(); err != nil {
			return err
		}
	}
	err := b.until("all nodes see each other and three voters", func() bool {
		for _, p := range b.nodes {
			if len(p.members) != len(b.nodes) || p.leader != b.nodes[0].leader || len(p.voters) != 3 || !slices.Equal(p.voters, b.nodes[0].voters) {
				return false
			}
			for _, q := range b.nodes {
				if !p.members[q.id] {
					return false
				}
			}
		}
		return b.nodes[0].leader != ""
	})
	if err != nil {
		return err
	}
	pause := time.After(b.o.settle)
	for {
		select {
		case t := <-b.lines:
			b.take(t)
		case <-pause:
			return nil
		}
	}
}

// choose takes the next victim out of the nodes.
func (b *bench) choose() (*process, error) {
	leader, voters := b.nodes[0].leader, b.nodes[0].voters
	i := slices.IndexFunc(b.nodes, func(p *process) bool {
		switch b.o.victim {
		case "leader":
			return p.id == leader
		case "voter":
			return p.id != leader && slices.Contains(voters, p.id)
		}
		return !slices.Contains(voters, p.id)
	})
	if i < 0 {
		return nil, fmt.Errorf("there is no %s", b.o.victim)
	}
	p := b.nodes[i]
	b.nodes = slices.Delete(b.nodes, i, i+1)
	return p, nil
}

// strike applies the fault to a process. The function that it returns restores the
// process's host.
func (b *bench) strike(victim *process) (heal func() error, err error) {
	heal = func() error { return nil }
	switch b.o.fault {
	case "kill":
		return heal, victim.Signal(syscall.SIGKILL)
	case "stop":
		return heal, victim.Signal(syscall.SIGSTOP)
	}
	cuts := bed.Between(victim.host, b.bed.Hosts()...)
	if b.o.fault == "reset" {
		cuts = bed.Refuse(cuts)
	}
	return func() error { return b.bed.Heal(cuts...) }, b.bed.Cut(cuts...)
}

// trial makes one node fail and waits until it is out of all views.
func (b *bench) trial() (out, first time.Duration, wrong int, err error) {
	victim, err := b.choose()
	if err != nil {
		return 0, 0, 0, err
	}
	began := monotonic()
	heal, err := b.strike(victim)
	defer func() {
		_ = victim.Kill()
		err = errors.Join(err, heal())
		b.free = append(b.free, victim.host)
	}()
	if err != nil {
		return 0, 0, 0, err
	}
	end := time.After(patience)
	for left := len(b.nodes); left > 0; {
		select {
		case t := <-b.lines:
			b.take(t)
			switch {
			case t.by == victim:
			case t.Node != victim.id && t.What == "down":
				wrong++
			case t.Node == victim.id && t.What == "suspected" && first == 0:
				first = time.Duration(t.At - began)
			case t.Node == victim.id && t.What == "down":
				left--
				out = max(out, time.Duration(t.At-began))
			}
		case <-end:
			return 0, 0, 0, fmt.Errorf("%s is still in a view %v after it failed", victim.id, patience)
		}
	}
	return out, first, wrong, nil
}
