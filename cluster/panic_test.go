package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode"
)

func silent(c *cluster.Config) {
	c.Logger = logrus.New()
	c.Logger.(*logrus.Logger).SetOutput(io.Discard)
}

// crash has the actors of a node whose names begin with prefix panic.
func crash(n *cluster.Node, prefix string) (crashed int) {
	for _, bucket := range n.System().ProcessRegistry.LocalPIDs.LocalPIDs {
		for _, id := range bucket.Keys() {
			if strings.HasPrefix(id, prefix) {
				n.System().Root.Send(actor.NewPID(n.System().Address(), id), actors.Crash{})
				crashed++
			}
		}
	}
	return crashed
}

// insist calls f until it ends with another error than ErrUnavailable, or ctx ends: on a
// busy machine the owners of shards may be silent for some seconds.
func insist(ctx context.Context, f func() error) error {
	for {
		if err := f(); !errors.Is(err, phalanx.ErrUnavailable) || ctx.Err() != nil {
			return err
		}
	}
}

// Whatever actor panics is restarted, on any node, and what was under way
// completes.
func TestActorsThatPanic(t *testing.T) {
	sizes := []int{1, 5}
	if testing.Short() {
		sizes = sizes[1:]
	}
	for _, nodes := range sizes {
		for _, name := range []string{"store", "shard-", "membership", "detector"} {
			t.Run(fmt.Sprintf("%s on %d nodes", name, nodes), func(t *testing.T) {
				nodes := start(t, nodes, silent)
				ctx := within(t)
				big, small := random(3<<20, 1), random(1000, 2)
				first, last := nodes[0], nodes[len(nodes)-1]
				for id, data := range map[phalanx.ObjectID][]byte{"big": big, "small": small} {
					if err := insist(ctx, func() error { _, err := first.Put(ctx, id, data); return err }); err != nil {
						t.Fatal(err)
					}
				}
				get := func(id phalanx.ObjectID, data []byte) error {
					return insist(ctx, func() error {
						v, err := last.Get(ctx, id)
						if err != nil {
							return err
						}
						defer v.Release()
						if !bytes.Equal(v.Bytes(), data) {
							return fmt.Errorf("other bytes of %s", id)
						}
						return nil
					})
				}
				waits := make(chan error, 1)
				go func() { waits <- get("later", big) }()
				events := last.Events(ctx)
				hit := 0
				for _, n := range nodes[len(nodes)/2:] {
					hit += crash(n, name)
				}
				if hit == 0 {
					t.Fatal("there is no such actor")
				}
				restarted := false
				for !restarted {
					e, ok := <-events
					if !ok {
						t.Fatal("no restart was told of")
					}
					_, restarted = e.(actors.ActorRestarted)
				}
				if err := insist(ctx, func() error { _, err := first.Put(ctx, "later", big); return err }); err != nil {
					t.Fatal(err)
				}
				if err := <-waits; err != nil {
					t.Errorf("what waited ended with %v", err)
				}
				for id, data := range map[phalanx.ObjectID][]byte{"big": big, "small": small} {
					if err := get(id, data); err != nil {
						t.Fatalf("%s: %v", id, err)
					}
				}
				if err := insist(ctx, func() error { return first.Delete(ctx, "big") }); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A node of which an actor panics again and again joins again, with what it has.
func TestActorsThatAreStopped(t *testing.T) {
	for name, sizes := range map[string][]int{"store": {1, 5}, "evictor": {3}, "places": {3}, "looks": {3}, "shard-": {3}} {
		for _, size := range sizes {
			t.Run(fmt.Sprintf("%s on %d nodes", name, size), func(t *testing.T) {
				nodes := start(t, size, silent)
				ctx := within(t)
				n := nodes[0]
				big := random(3<<20, 1)
				put(t, n, "big", big)
				waits := make(chan error, 1)
				go func() {
					_, err := n.Get(ctx, "never")
					waits <- err
				}()
				eventually(t, "it waits", func() bool { return n.Status().Fetching > 0 })
				was, events := n.ID(), n.Events(ctx)
				n.FailAtOnce()
				if crash(n, name) == 0 {
					t.Fatal("there is no such actor")
				}
				if err := <-waits; !errors.Is(err, phalanx.ErrFenced) {
					t.Errorf("what waited ended with %v", err)
				}
				back := false
				for e := range events {
					if r, ok := e.(actors.NodeRejoined); ok {
						back = r.Was == was && r.Node == n.ID()
						break
					}
				}
				if !back {
					t.Fatal("it has not joined again")
				}
				small := random(1000, 2)
				put(t, n, "small", small)
				for _, n := range nodes {
					brings(t, "a Get", getting(ctx, n, "small"), small)
					if size > 1 { // else there is a new cluster, of which nobody knows it
						brings(t, "a Get", getting(ctx, n, "big"), big)
					}
				}
			})
		}
	}
}

// A coordinator that panics in the middle of a reduce takes the target up again.
func TestACoordinatorThatPanics(t *testing.T) {
	nodes := start(t, 5, silent)
	ctx := within(t)
	ones := make([]float32, 1<<18)
	for i := range ones {
		ones[i] = 1
	}
	var sources []phalanx.ObjectID
	for i := range nodes {
		sources = append(sources, phalanx.ObjectID(fmt.Sprint("s", i)))
	}
	for i := range 3 {
		if _, err := cluster.PutArray(ctx, nodes[i], sources[i], ones); err != nil {
			t.Fatal(err)
		}
	}
	type result struct {
		storenode.ReduceResult
		error
	}
	over := make(chan result, 1)
	go func() {
		r, err := nodes[4].Reduce(ctx, storenode.Reduce{Target: "sum", Sources: sources, Op: phalanx.Sum})
		over <- result{r, err}
	}()
	for round := range 3 { // it is under way
		for {
			tree, err := nodes[0].Tree(ctx, "sum")
			if err == nil && tree.Kind == "reduce" && len(tree.Nodes) >= 3 {
				break
			}
			if ctx.Err() != nil {
				t.Fatalf("round %d: %+v, %v", round, tree, err)
			}
		}
		if crash(nodes[4], "reduce-") != 1 {
			t.Fatal("there is no coordinator")
		}
	}
	for i := 3; i < 5; i++ {
		if _, err := cluster.PutArray(ctx, nodes[i], sources[i], ones); err != nil {
			t.Fatal(err)
		}
	}
	r := <-over
	if r.error != nil || len(r.In) != 5 {
		t.Fatalf("%v, %v", r.In, r.error)
	}
	a, err := cluster.GetArray[float32](ctx, nodes[1], "sum")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Release()
	for i, v := range a.Values() {
		if v != 5 {
			t.Fatalf("element %d is %v", i, v)
		}
	}
}

// A Put whose actor panics gives back what was bound for it: another one does not
// wait.
func TestPutThatPanics(t *testing.T) {
	nodes := start(t, 3, silent)
	ctx := within(t)
	first, rest := io.Pipe()
	failed := make(chan error, 1)
	go func() {
		_, err := nodes[0].PutReader(ctx, "x", first, -1)
		failed <- err
	}()
	if _, err := rest.Write(random(1<<20, 1)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is begun", func() bool {
		st, err := nodes[1].Stat(ctx, "x")
		return err == nil && st.State == directory.Begun
	})
	if crash(nodes[0], "put-") != 1 {
		t.Fatal("there is no Put")
	}
	if err := <-failed; !errors.Is(err, phalanx.ErrInternal) {
		t.Errorf("the first Put: %v", err)
	}
	rest.Close()
	data := random(1<<20, 2)
	if _, err := nodes[1].Put(ctx, "x", data); err != nil {
		t.Fatal(err)
	}
	brings(t, "a Get", getting(ctx, nodes[2], "x"), data)
}

// The bytes of small sources are with the owners of their shards, until all
// replicas of these have died; then they are where they were put.
func TestSmallSourcesOfShardsThatWereLost(t *testing.T) {
	nodes := start(t, 3, silent)
	ctx := within(t)
	var sources []phalanx.ObjectID
	for i, n := range nodes {
		id := phalanx.ObjectID(fmt.Sprint("part/", i))
		sources = append(sources, id)
		if _, err := cluster.PutArray(ctx, n, id, []float32{1, 2, 3}); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range nodes {
		if crash(n, "shard-") == 0 {
			t.Fatal("there are no shards")
		}
	}
	ctx = within(t) // anew: on a busy machine so many replicas take long
	if err := insist(ctx, func() error {
		_, err := nodes[0].Reduce(ctx, storenode.Reduce{Target: "sum", Sources: sources, Op: phalanx.Sum})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	a, err := cluster.GetArray[float32](ctx, nodes[1], "sum")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Release()
	if v := a.Values(); len(v) != 3 || v[0] != 3 || v[1] != 6 || v[2] != 9 {
		t.Errorf("the sum is %v", v)
	}
}

// What actors hold is released when they end, also if the store has panicked since.
func TestARestartedStoreKnowsWhoHoldsWhat(t *testing.T) {
	n := start(t, 1, silent)[0]
	call, pid := spawnAsker(t, n)
	put(t, n, "x", random(3<<20, 1))
	if got := call(&storenode.Get{Object: "x"}).(*storenode.Got); got.Err != nil {
		t.Fatal(got.Err)
	}
	if crash(n, "store") != 1 {
		t.Fatal("there is no store to panic")
	}
	if st := call(&storenode.Stat{Object: "x"}).(*storenode.Stated); st.Err != nil { // it is back
		t.Fatal(st.Err)
	}
	if err := n.System().Root.StopFuture(pid).Wait(); err != nil {
		t.Fatal(err)
	}
	empty(t, []*cluster.Node{n}, "x")
}
