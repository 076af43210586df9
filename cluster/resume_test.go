package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/poll"
)

// resuming returns a service whose folder belongs to a cluster, and that does something as it starts.
func resuming(addresses []string, first func(*cluster.Node)) cluster.Service {
	return cluster.Service{Name: "resuming", Resume: &cluster.Resume{Addresses: addresses}, Actor: func(n *cluster.Node) *actor.Props {
		return actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().(*actor.Started); ok {
				first(n)
			}
		})
	}}
}

// joinFor joins a node that ends with the test.
func joinFor(t *testing.T, most time.Duration, cfg cluster.Config) (*cluster.Node, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	cfg.Memory = 64 << 20
	n, err := cluster.Join(ctx, cfg)
	if err == nil {
		t.Cleanup(n.Close)
	}
	return n, err
}

// A node whose disk belongs to a cluster begins none by itself, with and without seeds.
func TestResumingNodeBeginsNoCluster(t *testing.T) {
	for _, addresses := range [][]string{nil, {"127.0.0.1:1"}} {
		_, err := joinFor(t, 2500*time.Millisecond, cluster.Config{Name: "a", Seeds: addresses, Services: []cluster.Service{resuming(addresses, func(*cluster.Node) {})}})
		if !errors.Is(err, phalanx.ErrDeadline) {
			t.Errorf("with %q: %v", addresses, err)
		}
	}
}

// Its service has it begin the cluster; others enter it by the addresses that their disks remember. What is put
// into the cluster is there for all.
func TestServiceBeginsTheClusterAnew(t *testing.T) {
	a, err := joinFor(t, time.Minute, cluster.Config{Name: "a", Seeds: []string{"127.0.0.1:1"}, Services: []cluster.Service{resuming(nil, func(n *cluster.Node) { n.Begin(7) })}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := joinFor(t, time.Minute, cluster.Config{Name: "b", Services: []cluster.Service{resuming([]string{a.ControlAddr()}, func(*cluster.Node) {})}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := joinFor(t, time.Minute, cluster.Config{Name: "c", Services: []cluster.Service{resuming([]string{"127.0.0.1:1"}, func(n *cluster.Node) { n.Enter(a.ControlAddr()) })}})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []*cluster.Node{a, b, c} {
		if v := n.View(); v.Cluster != a.ID() || v.Restarts != 7 {
			t.Errorf("%s is in the cluster of %s, restarts %d", n.ID(), v.Cluster, v.Restarts)
		}
	}
	if _, err := b.Put(within(t), "x", []byte("1")); err != nil {
		t.Fatal(err)
	}
	if v, err := c.Get(within(t), "x"); err != nil {
		t.Error(err)
	} else {
		v.Release()
	}
}

// Members of a cluster that has gone end their incarnations, and begin another one or enter it.
func TestMembersOfAnotherClusterEnter(t *testing.T) {
	nodes := start(t, 2)
	a, b := nodes[0], nodes[1]
	if _, err := b.Put(within(t), "of b", make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	before := []phalanx.NodeID{a.ID(), b.ID()}
	a.Begin(1)
	a.Begin(1)
	poll.Until(t, "a has begun a cluster", func() bool { v := a.View(); return a.ID() != before[0] && v.Cluster == a.ID() && v.Restarts == 1 })
	b.Enter(a.ControlAddr())
	poll.Until(t, "b is in it", func() bool { v := b.View(); return b.ID() != before[1] && v.Cluster == a.ID() && v.Restarts == 1 })
	if _, err := b.Put(within(t), "new", []byte("1")); err != nil {
		t.Fatal(err)
	}
	if v, err := a.Get(within(t), "new"); err != nil {
		t.Error(err)
	} else {
		v.Release()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if _, err := a.Get(ctx, "of b"); !errors.Is(err, phalanx.ErrDeadline) {
		t.Errorf("an object of the cluster before: %v", err)
	}
	if len(b.View().Members) != 2 {
		t.Error(fmt.Sprint(b.View()))
	}
}

// A service hears that no process listens at an address which it has sent something to, and hears it again.
func TestServiceHearsOfRefusedConnections(t *testing.T) {
	const nobody = "127.0.0.1:1"
	heard := make(chan string, 100)
	service := cluster.Service{Name: "resuming", Resume: &cluster.Resume{}, Actor: func(n *cluster.Node) *actor.Props {
		return actor.PropsFromFunc(func(c actor.Context) {
			switch m := c.Message().(type) {
			case *actor.Started:
				n.Begin(1)
				c.Send(actor.NewPID(nobody, "resuming"), &actor.Touch{})
			case cluster.Refused:
				heard <- m.Address
				c.Send(actor.NewPID(nobody, "resuming"), &actor.Touch{})
			}
		})
	}}
	if _, err := joinFor(t, time.Minute, cluster.Config{Name: "a", Services: []cluster.Service{service}}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		select {
		case at := <-heard:
			if at != nobody {
				t.Errorf("%s refuses connections", at)
			}
		case <-time.After(time.Minute):
			t.Fatal("it has not heard of it within a minute")
		}
	}
}
