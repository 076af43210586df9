package bench_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/bench"
	"github.com/phalanx-go/phalanx/internal/leaks"
	"github.com/phalanx-go/phalanx/internal/poll"
)

func TestMain(m *testing.M) { leaks.VerifyTestMain(m) }

func start(t *testing.T, k int) []*cluster.Node {
	t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var nodes []*cluster.Node
	for i := range k {
		cfg := cluster.Config{Name: fmt.Sprint("n", i), Logger: log, Kinds: map[string]func(*cluster.Node) *actor.Props{bench.Kind: bench.Agent}}
		if i > 0 {
			cfg.Seeds = []string{nodes[0].ControlAddr()}
		}
		n, err := cluster.Join(ctx, cfg)
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, n)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for i := range nodes {
			_ = nodes[len(nodes)-1-i].Leave(ctx)
		}
	})
	for _, n := range nodes { // the view comes a little after
		poll.Until(t, "a view of all", func() bool { return len(n.View().Members) == k })
	}
	return nodes
}

func TestBench(t *testing.T) {
	nodes := start(t, 3)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, op := range bench.Ops {
		for _, size := range []int64{4, 1000, 1 << 20} {
			r, err := bench.Run(ctx, nodes[1], bench.Request{Op: op, Size: size, Runs: 2, WarmUp: 1})
			want := 3
			if op == bench.RoundTrip {
				want = 2
			}
			if err != nil || len(r.Times) != 2 || len(r.Nodes) != want || r.Nodes[0] != nodes[1].ID() {
				t.Errorf("%s of %d bytes: %+v, %v", op, size, r, err)
			}
		}
	}
	left, err := nodes[0].List(ctx, "phalanx-bench")
	if err != nil || len(left) > 0 {
		t.Errorf("the objects %v are left, %v", left, err)
	}
}

func TestBenchErrors(t *testing.T) {
	nodes := start(t, 1)
	for name, r := range map[string]bench.Request{
		"no such op":     {Op: "scatter", Size: 4, Runs: 1},
		"no whole array": {Op: bench.Reduce, Size: 6, Runs: 1},
		"no runs":        {Op: bench.Reduce, Size: 4},
		"too many nodes": {Op: bench.Reduce, Size: 4, Runs: 1, Nodes: 2},
		"too few nodes":  {Op: bench.Broadcast, Size: 4, Runs: 1},
	} {
		if _, err := bench.Run(context.Background(), nodes[0], r); !errors.Is(err, phalanx.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The nodes refuse arrays that are larger than their memory before they make the values.
func TestBenchOfTooMuch(t *testing.T) {
	nodes := start(t, 2)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, op := range bench.Ops {
		if _, err := bench.Run(ctx, nodes[0], bench.Request{Op: op, Size: 10 << 40, Runs: 1}); !errors.Is(err, phalanx.ErrNoSpace) {
			t.Errorf("%s of 10 TiB: %v", op, err)
		}
	}
}

// A caller that goes away does not wait for the run, and leaves nothing behind.
func TestBenchCanceled(t *testing.T) {
	nodes := start(t, 2)
	ctx, cancel := context.WithCancel(context.Background())
	gone := make(chan error, 1)
	go func() {
		_, err := bench.Run(ctx, nodes[0], bench.Request{Op: bench.RoundTrip, Size: 4, Runs: 1000, WarmUp: 1000})
		gone <- err
	}()
	for { // until it runs
		all, err := nodes[1].List(context.Background(), "phalanx-bench")
		if err != nil {
			t.Fatal(err)
		}
		if len(all) > 0 {
			break
		}
	}
	cancel()
	if err := <-gone; !errors.Is(err, phalanx.ErrCanceled) {
		t.Errorf("canceled: %v", err)
	}
}
