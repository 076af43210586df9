package cluster_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
)

// TestReduceInWindows reduces sources that fill their nodes but for a few
// mebibytes: only the root, where the result is asked for, has room for it
// (specification 4.7).
func TestReduceInWindows(t *testing.T) {
	size := int64(32 << 20)
	if testing.Short() {
		size = 12 << 20
	}
	for _, c := range []struct{ k, degree, root int }{{6, 1, 5}, {6, 2, 0}, {7, 2, 4}} {
		t.Run(fmt.Sprintf("%d nodes, degree %d", c.k, c.degree), func(t *testing.T) {
			i := 0
			nodes := start(t, c.k, func(cfg *cluster.Config) {
				cfg.Memory = size + 6<<20
				if i == c.root {
					cfg.Memory += size
				}
				i++
			})
			ctx := within(t)
			var sources []phalanx.ObjectID
			want := make([]int64, size/8)
			for k, n := range nodes {
				id := phalanx.ObjectID(fmt.Sprintf("s%d", k))
				values := make([]int64, size/8)
				for j := range values {
					values[j] = int64(j*(k+3)) ^ int64(k)<<40
					want[j] += values[j]
				}
				if _, err := cluster.PutArray(ctx, n, id, values); err != nil {
					t.Fatal(err)
				}
				sources = append(sources, id)
			}
			if _, err := nodes[c.root].Reduce(ctx, storenode.Reduce{Target: "sum", Sources: sources, Op: phalanx.Sum, Degree: c.degree}); err != nil {
				t.Fatal(err)
			}
			a, err := cluster.GetArray[int64](ctx, nodes[c.root], "sum")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { // so that nobody has to hand anything over
				a.Release()
				for _, id := range append(sources, "sum") {
					if err := nodes[0].Delete(ctx, id); err != nil {
						t.Error(err)
					}
				}
			}()
			for j, v := range a.Values() {
				if v != want[j] {
					t.Fatalf("element %d is %v, want %v", j, v, want[j])
				}
			}
			for _, n := range nodes {
				s := n.Status().Memory
				if s.Peak > s.Cap {
					t.Errorf("%d of %d bytes were in use", s.Peak, s.Cap)
				}
			}
		})
	}
}

// TestRootNeedsRoom has two places of a reduce on one node. The inner one keeps
// its whole output, until the root's source is ready and the root needs the room.
func TestRootNeedsRoom(t *testing.T) {
	const size = 16 << 20
	i := 0
	nodes := start(t, 2, func(cfg *cluster.Config) {
		cfg.Memory = []int64{2*size + 6<<20, 3*size + 6<<20}[i]
		i++
	})
	ctx := within(t)
	sources := []phalanx.ObjectID{"s0", "s1", "s2"}
	want := make([]int64, size/8)
	put := func(n *cluster.Node, k int) {
		values := make([]int64, size/8)
		for j := range values {
			values[j] = int64(j * (k + 3))
			want[j] += values[j]
		}
		if _, err := cluster.PutArray(ctx, n, sources[k], values); err != nil {
			t.Fatal(err)
		}
	}
	put(nodes[0], 0)
	put(nodes[1], 1)
	failed := make(chan error, 1)
	go func() {
		_, err := nodes[0].Reduce(ctx, storenode.Reduce{Target: "sum", Sources: sources, Op: phalanx.Sum, Degree: 1})
		failed <- err
	}()
	eventually(t, "the inner place has its output", func() bool { return nodes[1].Status().Memory.Used >= 2*size })
	put(nodes[1], 2)
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	a, err := cluster.GetArray[int64](ctx, nodes[1], "sum")
	if err != nil {
		t.Fatal(err)
	}
	for j, v := range a.Values() {
		if v != want[j] {
			t.Fatalf("element %d is %v, want %v", j, v, want[j])
		}
	}
	a.Release()
	for _, id := range append(sources, "sum") { // so that nobody has to hand anything over
		if err := nodes[0].Delete(ctx, id); err != nil {
			t.Error(err)
		}
	}
	for _, n := range nodes {
		quiet(t, n, 0)
	}
}

// TestNoRoomForRoot has no room for the result anywhere: the deadline says how
// much is missing, and where.
func TestNoRoomForRoot(t *testing.T) {
	t.Parallel() // it mostly waits
	const size = 16 << 20
	nodes := start(t, 2, func(cfg *cluster.Config) { cfg.Memory = size + 1<<20 })
	ctx := within(t)
	sources := []phalanx.ObjectID{"s0", "s1"}
	for i, id := range sources {
		if _, err := cluster.PutArray(ctx, nodes[i], id, make([]int64, size/8)); err != nil {
			t.Fatal(err)
		}
	}
	short, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, err := nodes[0].Reduce(short, storenode.Reduce{Target: "sum", Sources: sources, Op: phalanx.Sum, Degree: 1})
	refused(t, "a reduce without room", err, phalanx.ErrDeadline, "waits for memory", fmt.Sprint(size), fmt.Sprint(size+1<<20), string(nodes[1].ID()))
	for _, id := range sources {
		if err := nodes[0].Delete(ctx, id); err != nil {
			t.Error(err)
		}
	}
}
