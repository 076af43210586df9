package leader_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/leaks"
	"github.com/phalanx-go/phalanx/internal/poll"
	"github.com/phalanx-go/phalanx/leader"
)

func TestMain(m *testing.M) { leaks.VerifyTestMain(m) }

func config(name string, seeds ...string) cluster.Config {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return cluster.Config{Name: name, Logger: log, Seeds: seeds, Services: []cluster.Service{barrier.Service()}}
}

// join has a node join, which leaves when the test ends, if it has not ended before.
func join(t testing.TB, name string, seeds ...string) *cluster.Node {
	t.Helper()
	n, err := cluster.Join(within(t), config(name, seeds...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := n.Leave(ctx); err != nil && !errors.Is(n.Err(), err) {
			t.Error(err)
		}
	})
	return n
}

// start returns nodes in this process.
func start(t testing.TB, k int) []*cluster.Node {
	t.Helper()
	nodes := []*cluster.Node{join(t, "n0")}
	for i := range k - 1 {
		nodes = append(nodes, join(t, fmt.Sprint("n", i+1), nodes[0].ControlAddr()))
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

func open(t testing.TB, n *cluster.Node, name string) *leader.Election {
	t.Helper()
	e, err := leader.Open(n, name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// elected returns the leadership of a candidate.
func elected(t testing.TB, e *leader.Election, name string) *leader.Leadership {
	t.Helper()
	l, err := e.Campaign(within(t), name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func is(t testing.TB, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("%v is not %v", err, target)
	}
}
