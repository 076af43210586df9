package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
)

// putMany puts n arrays of one element under ids of 250 bytes.
func putMany(ctx context.Context, t testing.TB, nodes []*cluster.Node, n int) []phalanx.ObjectID {
	t.Helper()
	ids := make([]phalanx.ObjectID, n)
	slots := make(chan struct{}, 64)
	var all sync.WaitGroup
	for i := range ids {
		head := fmt.Sprintf("many/%d/%d/", n, i)
		ids[i] = phalanx.ObjectID(head + strings.Repeat("x", 250-len(head)))
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			if _, err := cluster.PutArray(ctx, nodes[i%len(nodes)], ids[i], []int64{1}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	return ids
}

// twoOfAShard returns two ids of one shard, which node owns.
func twoOfAShard(node *cluster.Node, name string) (first, second phalanx.ObjectID) {
	shard := -1
	for i := 0; ; i++ {
		id := phalanx.ObjectID(fmt.Sprintf("%s/%d", name, i))
		switch s, at := node.View().Owner(id); {
		case s.Owner != node.ID():
		case first == "":
			first, shard = id, at
		case at == shard:
			return first, id
		}
	}
}

// However many sources a Reduce has, and however long their ids are, its answer is
// recorded, whoever asks again gets it, and the target's shard goes on.
func TestReduceOfManySources(t *testing.T) {
	counts := []int{10, 1000, 4300}
	if testing.Short() {
		counts = counts[:2]
	}
	nodes := start(t, 3, silent, func(c *cluster.Config) { c.Memory = 1 << 30 })
	steady(t, nodes)
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	for _, n := range counts {
		began := time.Now()
		sources := putMany(ctx, t, nodes, n)
		put := time.Since(began)
		target, other := twoOfAShard(nodes[0], fmt.Sprintf("sum/%d", n))
		began = time.Now()
		want := storenode.Reduce{Target: target, Sources: sources, Op: phalanx.Sum}
		r, err := nodes[0].Reduce(ctx, want)
		if err != nil || !slices.Equal(r.In, sources) || len(r.Out) > 0 {
			t.Fatalf("of %d sources %d are in and %d out: %v", n, len(r.In), len(r.Out), err)
		}
		took := time.Since(began)
		began = time.Now()
		again, err := nodes[1].Reduce(ctx, want)
		if err != nil || !slices.Equal(again.In, sources) || again.Digest != r.Digest {
			t.Errorf("asked again, of %d sources %d are in: %v", n, len(again.In), err)
		}
		t.Logf("%d sources: put in %v, reduced in %v, asked again in %v", n, put, took, time.Since(began))
		switch v, err := cluster.GetArray[int64](ctx, nodes[2], target); {
		case err != nil:
			t.Error(err)
		default:
			if v.Values()[0] != int64(n) {
				t.Errorf("the sum of %d ones is %d", n, v.Values()[0])
			}
			v.Release()
		}
		if _, err := nodes[1].Put(ctx, other, []byte("abc")); err != nil {
			t.Errorf("a Put on the target's shard: %v", err)
		}
	}
}

func TestReduceOfTooManySources(t *testing.T) {
	nodes := start(t, 1, silent)
	sources := make([]phalanx.ObjectID, 1<<17+1)
	for i := range sources {
		sources[i] = phalanx.ObjectID(fmt.Sprint("s/", i))
	}
	_, err := nodes[0].Reduce(t.Context(), storenode.Reduce{Target: "t", Sources: sources, Op: phalanx.Sum})
	if !errors.Is(err, phalanx.ErrInvalid) || !strings.Contains(err.Error(), "131073") || !strings.Contains(err.Error(), "131072") {
		t.Errorf("the error is %v", err)
	}
}
