package barrier_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/children/nodes"
	"github.com/phalanx-go/phalanx/internal/leaks"
	"github.com/phalanx-go/phalanx/internal/poll"
)

func TestMain(m *testing.M) {
	if place := os.Getenv(nodes.Variable); place != "" {
		if err := nodes.Be(place, time.Minute, func(name string) cluster.Config { return config(name) }, setup); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	leaks.VerifyTestMain(m)
}

const ms = time.Millisecond

func config(name string, seeds ...string) cluster.Config {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return cluster.Config{Name: name, Logger: log, Seeds: seeds, Services: []cluster.Service{barrier.Service()}}
}

// start returns nodes in this process, which leave when the test ends.
func start(t testing.TB, k int) []*cluster.Node {
	t.Helper()
	var nodes []*cluster.Node
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for i := range nodes {
			if err := nodes[len(nodes)-1-i].Leave(ctx); err != nil {
				t.Error(err)
			}
		}
	})
	for i := range k {
		cfg := config(fmt.Sprint("n", i))
		if i > 0 {
			cfg.Seeds = []string{nodes[0].ControlAddr()}
		}
		n, err := cluster.Join(within(t), cfg)
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, n)
	}
	for _, n := range nodes {
		eventually(t, "a view of all", func() bool { return len(n.View().Members) == k })
	}
	return nodes
}

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// eventually waits until a condition holds.
var eventually = poll.Until

func open(t testing.TB, n *cluster.Node, name string, cfg barrier.Config, opts ...barrier.Option) *barrier.Barrier {
	t.Helper()
	b, err := barrier.Open(n, name, cfg, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// outcome is how an Enter ended.
type outcome struct {
	host string
	barrier.Passage
	err error
}

// enter has hosts enter at all nodes in turn.
func enter(t testing.TB, ctx context.Context, nodes []*cluster.Node, name string, cfg barrier.Config, hosts ...string) <-chan outcome {
	t.Helper()
	out := make(chan outcome, len(hosts))
	for i, h := range hosts {
		b := open(t, nodes[i%len(nodes)], name, cfg)
		b.EnterFunc(ctx, barrier.Entry{Host: h}, func(p barrier.Passage, err error) { out <- outcome{h, p, err} })
	}
	return out
}

func names(n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("w%03d", i))
	}
	return all
}

func is(t testing.TB, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("%v is not %v", err, target)
	}
}
