package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
)

// The lists of an application may be long: many sources, many objects under a prefix,
// many nodes.
func TestLongLists(t *testing.T) {
	nodes := start(t, 3, silent, func(c *cluster.Config) { c.Memory = 1 << 30 })
	steady(t, nodes)
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	many := 2000
	if testing.Short() {
		many = 300
	}
	for _, n := range []int{10, many} {
		ids := putMany(ctx, t, nodes, n)
		g, err := nodes[1].Gather(ctx, ids, 0)
		if err != nil || len(g.In) != n || len(g.Out) > 0 {
			t.Fatalf("of %d sources %d came and %d did not: %v", n, len(g.In), len(g.Out), err)
		}
		for _, v := range g.Views {
			v.Release()
		}
		all, err := nodes[2].List(ctx, fmt.Sprintf("many/%d/", n))
		if err != nil || len(all) != n {
			t.Errorf("%d of %d objects are listed: %v", len(all), n, err)
		}
		walked := 0
		if err := nodes[2].Walk(ctx, fmt.Sprintf("many/%d/", n), func(some []storenode.ObjectStat) bool {
			walked += len(some)
			return true
		}); err != nil || walked != n {
			t.Errorf("Walk has %d of %d objects: %v", walked, n, err)
		}
		pages := 0
		if err := nodes[2].Walk(ctx, "many/", func([]storenode.ObjectStat) bool { pages++; return false }); err != nil || pages != 1 {
			t.Errorf("%d pages, and one was wanted: %v", pages, err)
		}
		if err := nodes[0].Prefetch(ctx, ids[0], slices.Repeat([]phalanx.NodeID{nodes[1].ID(), nodes[2].ID()}, n)...); err != nil {
			t.Errorf("a prefetch that names each node %d times: %v", n, err)
		}
		var strangers []phalanx.NodeID
		for i := range n {
			strangers = append(strangers, phalanx.MakeNodeID(fmt.Sprint("stranger", i), 1))
		}
		if err := nodes[0].Prefetch(ctx, ids[0], strangers...); !errors.Is(err, phalanx.ErrInvalid) {
			t.Errorf("a prefetch to %d strangers: %v", n, err)
		}
		var deletes sync.WaitGroup
		for _, id := range ids {
			deletes.Go(func() {
				if err := insist(ctx, func() error { return nodes[0].Delete(ctx, id) }); err != nil {
					t.Error(err)
				}
			})
		}
		deletes.Wait()
		if all, err := nodes[1].List(ctx, "many/"); err != nil || len(all) > 0 {
			t.Errorf("%d objects are listed after all were deleted: %v", len(all), err)
		}
	}
}
