package cluster_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/protocol/view"
	"github.com/phalanx-go/phalanx/storenode"
)

// TestShardLost has the owner and the backup of a shard die together (specification
// 2.5). What has a complete copy somewhere is read, as many copies are kept as were
// asked for, and the same reduces have the same answers, whether the bytes were large,
// or so small that they were with the owner.
func TestShardLost(t *testing.T) {
	for _, elements := range []int64{100, 50_000} {
		t.Run(fmt.Sprintf("%d bytes", 8*elements), func(t *testing.T) {
			nodes := start(t, 6, silent)
			steady(t, nodes)
			ctx := within(t)
			v := nodes[0].View()
			shard := slices.IndexFunc(v.Shards, func(s view.Shard) bool { // the voters keep their majority
				return !slices.Contains(v.Voters, s.Owner) && !slices.Contains(v.Voters, s.Backup)
			})
			row := v.Shards[shard]
			slices.SortStableFunc(nodes, func(a, b *cluster.Node) int { // the owner and the backup are the last
				rank := []phalanx.NodeID{row.Owner, row.Backup}
				return slices.Index(rank, a.ID()) - slices.Index(rank, b.ID())
			})
			next := 0
			id := func(what string) phalanx.ObjectID { // of the shard that is lost
				for {
					next++
					id := phalanx.ObjectID(fmt.Sprintf("%s/%d", what, next))
					if id.Shard(len(v.Shards)) == shard {
						return id
					}
				}
			}
			values := func(seed int64) []int64 {
				all := make([]int64, elements)
				for i := range all {
					all[i] = int64(i) * seed
				}
				return all
			}
			put := func(n *cluster.Node, id phalanx.ObjectID, seed int64, options ...cluster.PutOption) {
				t.Helper()
				if _, err := n.Put(ctx, id, cluster.BytesOf(values(seed)), append(options, cluster.WithArray(phalanx.Int64, elements))...); err != nil {
					t.Fatal(err)
				}
			}
			reads := func(n *cluster.Node, id phalanx.ObjectID, seed int64) {
				t.Helper()
				c, cancel := context.WithTimeout(ctx, 20*time.Second)
				defer cancel()
				a, err := cluster.GetArray[int64](c, n, id)
				if err != nil {
					t.Fatalf("%s, on a node without a copy: %v", id, err)
				}
				defer a.Release()
				if !slices.Equal(a.Values(), values(seed)) {
					t.Errorf("%s has other bytes", id)
				}
			}
			read, twice, again := id("read"), id("twice"), id("again")
			put(nodes[4], read, 3)
			reads(nodes[0], read, 3)
			put(nodes[3], twice, 5, cluster.WithCopies(3))
			put(nodes[2], again, 7)
			put(nodes[0], again, 7, cluster.WithCopies(2)) // more than before, and they are there already
			var sources []phalanx.ObjectID
			for i, n := range nodes[:3] {
				sources = append(sources, phalanx.ObjectID(fmt.Sprint("source/", i)))
				put(n, sources[i], int64(10*i+1))
			}
			sum := storenode.Reduce{Target: id("sum"), Sources: sources, Op: phalanx.Sum}
			was, err := nodes[1].Reduce(ctx, sum)
			if err != nil {
				t.Fatal(err)
			}
			reads(nodes[0], sum.Target, 33)
			reads(nodes[1], sum.Target, 33)
			eventually(t, "a node that stays knows of which reduce it has the result, and one how many copies are to be kept", func() bool {
				return nodes[1].Holding(sum.Target).Tag != "" && nodes[2].Holding(again).Copies == 2
			})

			var dying sync.WaitGroup
			for _, n := range nodes[4:] {
				dying.Go(n.Die)
			}
			dying.Wait()
			left := nodes[:4]
			eventually(t, "they are out", func() bool {
				return !slices.ContainsFunc(left, func(n *cluster.Node) bool { return len(n.View().Members) != 4 })
			})
			reads(left[2], read, 3)
			for _, kept := range []struct {
				id     phalanx.ObjectID
				copies int
			}{{twice, 3}, {again, 2}} {
				eventually(t, "copies are made again", func() bool {
					st, err := left[1].Stat(ctx, kept.id)
					if err != nil {
						return false
					}
					n := 0
					for _, h := range st.Holders {
						if h.Complete && h.Pinned {
							n++
						}
					}
					return n >= kept.copies
				})
			}
			reads(left[1], twice, 5)
			left[0].Die() // it or another one had to be made
			left = left[1:]
			eventually(t, "it is out", func() bool { return len(left[0].View().Members) == 3 })
			reads(left[0], again, 7)
			res, err := left[2].Reduce(ctx, sum)
			if err != nil || len(res.In) != len(was.In) || len(res.Out) != 0 || res.Gen != was.Gen {
				t.Errorf("the same reduce again: %+v, %v, and was %+v", res, err, was)
			}
			sum.Op = phalanx.Max
			_, err = left[2].Reduce(ctx, sum)
			refused(t, "another reduce on that target", err, phalanx.ErrExists)
		})
	}
}
