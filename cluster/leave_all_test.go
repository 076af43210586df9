package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
)

// threeThatEnd starts three nodes that the test ends itself, each with an object, and returns their
// log.
func threeThatEnd(t *testing.T) ([]*cluster.Node, *logtest.Hook) {
	t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	said := logtest.NewLocal(log)
	var nodes []*cluster.Node
	for i := range 3 {
		cfg := cluster.Config{Name: fmt.Sprintf("n%d", i+1), Memory: 64 << 20, Logger: log}
		if i > 0 {
			cfg.Seeds = []string{nodes[0].ControlAddr()}
		}
		n, err := cluster.Join(within(t), cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(n.Close)
		put(t, n, phalanx.ObjectID(fmt.Sprint("x", i)), random(100_000, uint64(i)))
		nodes = append(nodes, n)
	}
	return nodes, said
}

// losses returns the objects that warnings call lost.
func losses(said *logtest.Hook) (ids []phalanx.ObjectID) {
	for _, e := range said.AllEntries() {
		if strings.Contains(e.Message, "objects that only this node had are lost") && e.Level == logrus.WarnLevel {
			ids = append(ids, e.Data["named"].([]phalanx.ObjectID)...)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// All nodes of a cluster leave at once. Each ends soon and without an error, also if it does not
// hear that it is removed, and a warning names what is lost.
func TestAllLeaveAtOnce(t *testing.T) {
	rounds := 10
	if testing.Short() {
		rounds = 3
	}
	for round := range rounds {
		nodes, said := threeThatEnd(t)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		errs := make([]error, len(nodes))
		var wg sync.WaitGroup
		for i, n := range nodes {
			wg.Go(func() { errs[i] = n.Leave(ctx) })
		}
		wg.Wait()
		cancel()
		if err := errors.Join(errs...); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		if got := losses(said); !slices.Equal(got, []phalanx.ObjectID{"x0", "x1", "x2"}) {
			t.Errorf("round %d: %v are lost", round, got)
		}
	}
}

// The other nodes are gone, and with them the majority of the voters. A node that leaves ends soon,
// and a warning names its objects.
func TestLeaveWhenAllOthersAreGone(t *testing.T) {
	t.Parallel() // it mostly waits
	nodes, said := threeThatEnd(t)
	steady(t, nodes)
	die(nodes[:2]...)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
	defer cancel()
	if err := nodes[2].Leave(ctx); err != nil {
		t.Error(err)
	}
	if got := losses(said); !slices.Contains(got, "x2") {
		t.Errorf("%v are lost", got)
	}
}

// The other nodes are gone, and a service has something on this node's disk that nobody has taken. Their processes could start
// again and need it: a node that leaves waits for half of its time.
func TestLeaveWhenOthersMayNeedItsDisk(t *testing.T) {
	t.Parallel() // it mostly waits
	nodes := start(t, 3, silent, func(c *cluster.Config) {
		c.Services = []cluster.Service{{Name: "disk", Durable: true, Actor: func(*cluster.Node) *actor.Props { return actor.PropsFromFunc(func(actor.Context) {}) }}}
	})
	steady(t, nodes)
	leaver := nodes[2]
	leaver.Remains("disk", math.MaxUint64, 1)
	const deadline = 14 * time.Second
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	begun, left := time.Now(), make(chan error, 1)
	go func() { left <- leaver.Leave(ctx) }()
	eventually(t, "it is marked", func() bool { m, _ := nodes[0].View().Member(leaver.ID()); return m.Leaving })
	die(nodes[:2]...)
	if err := <-left; err != nil {
		t.Error(err)
	}
	if took := time.Since(begun); took < deadline/2 || took >= deadline {
		t.Errorf("it has left after %v", took)
	}
}

// A node was removed, and all members that it could join again are gone. As it is to leave, it
// ends, says so, and names its objects.
func TestLeaveOfARemovedNodeWhenAllOthersAreGone(t *testing.T) {
	t.Parallel() // it mostly waits
	nodes, said := threeThatEnd(t)
	steady(t, nodes)
	die(nodes[:2]...)
	nodes[2].Fence()
	if err := nodes[2].Leave(within(t)); !errors.Is(err, phalanx.ErrFenced) || !strings.Contains(err.Error(), "none of them runs any more") {
		t.Errorf("it says %v", err)
	}
	select {
	case <-nodes[2].Done():
	default:
		t.Error("it has not ended")
	}
	if got := losses(said); !slices.Contains(got, "x2") {
		t.Errorf("%v are lost", got)
	}
}
