package group_test

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
	"github.com/phalanx-go/phalanx/group"
	"github.com/phalanx-go/phalanx/internal/children/nodes"
	"github.com/phalanx-go/phalanx/internal/leaks"
	"github.com/phalanx-go/phalanx/internal/poll"
)

func TestMain(m *testing.M) {
	if place := os.Getenv(nodes.Variable); place != "" {
		if err := nodes.Be(place, 3*time.Minute, func(name string) cluster.Config { return config(name) }, setup); err != nil {
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
	return cluster.Config{Name: name, Logger: log, Memory: 512 << 20, Seeds: seeds, Services: []cluster.Service{barrier.Service(), group.Service()}}
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

// busy waits until a Get and a Reduce run on each node.
func busy(t testing.TB, nodes ...*cluster.Node) {
	t.Helper()
	for _, n := range nodes {
		eventually(t, "a Get and a Reduce", func() bool { s := n.Status(); return s.Fetching > 0 && s.Reduces > 0 })
	}
}

// on returns a member on each node.
func on(nodes []*cluster.Node) []group.Member {
	var all []group.Member
	for _, n := range nodes {
		all = append(all, group.Member{Node: n.ID()})
	}
	return all
}

// each has every group make a call, at once, and fails the test if one fails.
func each[T any](t testing.TB, groups []*group.Group, call func(i int, g *group.Group) (T, error)) []T {
	t.Helper()
	out, errs := outcomes(groups, call)
	for i, err := range errs {
		if err != nil {
			t.Fatalf("member %d: %v", i, err)
		}
	}
	return out
}

func outcomes[T any](groups []*group.Group, call func(i int, g *group.Group) (T, error)) ([]T, []error) {
	type one struct {
		i   int
		v   T
		err error
	}
	ch := make(chan one, len(groups))
	for i, g := range groups {
		go func() {
			v, err := call(i, g)
			ch <- one{i, v, err}
		}()
	}
	out, errs := make([]T, len(groups)), make([]error, len(groups))
	for range groups {
		o := <-ch
		out[o.i], errs[o.i] = o.v, o.err
	}
	return out, errs
}

// form has members on nodes form a group.
func form(t testing.TB, name string, nodes []*cluster.Node) []*group.Group {
	t.Helper()
	ctx := within(t)
	return each(t, make([]*group.Group, len(nodes)), func(i int, _ *group.Group) (*group.Group, error) {
		return group.Form(ctx, nodes[i], name, on(nodes))
	})
}

func is(t testing.TB, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("%v is not %v", err, target)
	}
}
