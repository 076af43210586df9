package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx/internal/children"
)

// ready is the line in which dev lists its nodes.
type ready struct {
	Nodes []struct {
		Node string `json:"node"`
		PID  int    `json:"pid"`
		HTTP string `json:"http"`
	} `json:"nodes"`
}

const (
	starting = time.Minute
	ending   = 10 * time.Second
)

func measure(ctx context.Context, o options) (r result, err error) {
	dir, err := os.MkdirTemp("", "phalanx-idle")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if o.program == "" {
		o.program = filepath.Join(dir, "phalanx")
		if said, err := exec.CommandContext(ctx, "go", "build", "-o", o.program, "github.com/phalanx-go/phalanx/cmd/phalanx").CombinedOutput(); err != nil {
			return r, fmt.Errorf("go build of phalanx fails: %w: %s", err, said)
		}
	}
	return o.run(ctx, dir)
}

// run starts the nodes, with their folders in dir, and measures them.
func (o options) run(ctx context.Context, dir string) (r result, err error) {
	dev := exec.Command(o.program, "dev", fmt.Sprint("--nodes=", o.nodes), "--http=127.0.0.1:0", "--log-level=error", "-o", "json")
	if o.folders {
		dev.Args = append(dev.Args, "--dir="+filepath.Join(dir, "folders"))
	}
	out, first := children.FirstLine()
	dev.Stderr, dev.Stdout = os.Stderr, out
	child, err := children.Run(dev)
	if err != nil {
		return r, err
	}
	defer func() {
		_ = child.Signal(os.Interrupt) // dev is no child that can be asked
		late, cancel := context.WithTimeout(context.Background(), ending)
		defer cancel()
		_ = child.Wait(late)
	}()
	nodes, err := started(ctx, child, first)
	if err != nil {
		return r, err
	}
	if err := pause(ctx, o.settle); err != nil {
		return r, err
	}
	before := make([]usage, len(nodes.Nodes))
	began := time.Now()
	for i, n := range nodes.Nodes {
		if before[i], err = read(n.PID); err != nil {
			return r, err
		}
	}
	if err := pause(ctx, o.length); err != nil {
		return r, err
	}
	r.Seconds = time.Since(began).Seconds()
	for i, n := range nodes.Nodes {
		after, err := read(n.PID)
		if err != nil {
			return r, err
		}
		r.add(node{
			Node:     n.Node,
			Percent:  100 * (after.core - before[i].core).Seconds() / r.Seconds,
			Switches: float64(after.switches-before[i].switches) / r.Seconds,
			Forced:   float64(after.forced-before[i].forced) / r.Seconds,
		})
	}
	return r, o.roles(ctx, &r, nodes.Nodes[0].HTTP)
}

// started waits until dev says in its first line that all nodes are ready.
func started(ctx context.Context, dev *children.Child, first <-chan []byte) (nodes ready, err error) {
	ctx, cancel := context.WithTimeout(ctx, starting)
	defer cancel()
	select {
	case line := <-first:
		err := json.Unmarshal(line, &nodes)
		if err == nil && len(nodes.Nodes) == 0 {
			err = fmt.Errorf("dev says %q", line)
		}
		return nodes, err
	case <-dev.Done():
		return nodes, fmt.Errorf("dev has ended: %s", children.How(dev.Err()))
	case <-ctx.Done():
		return nodes, fmt.Errorf("the nodes are not ready: %w", context.Cause(ctx))
	}
}

// roles asks a node for the leader and the voters, after the measurement.
func (o options) roles(ctx context.Context, r *result, at string) error {
	said, err := exec.CommandContext(ctx, o.program, "status", "--addr", at, "-o", "json").Output()
	if err != nil {
		return fmt.Errorf("status: %w", err)
	}
	var st struct {
		Leader string   `json:"leader"`
		Voters []string `json:"voters"`
	}
	if err := json.Unmarshal(said, &st); err != nil {
		return err
	}
	for i := range r.Nodes {
		n := &r.Nodes[i]
		switch {
		case n.Node == st.Leader:
			n.Role = "leader"
		case slices.Contains(st.Voters, n.Node):
			n.Role = "voter"
		default:
			n.Role = "member"
		}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
