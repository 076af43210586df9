package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
)

// TestJoinsAndLeavesUnderLoad keeps two nodes busy while others come and go:
// shards move all the time, and no call fails or returns other bytes.
func TestJoinsAndLeavesUnderLoad(t *testing.T) {
	nodes := start(t, 2)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	stop := make(chan struct{})
	var busy sync.WaitGroup
	for w := range 4 {
		busy.Go(func() {
			for round := 0; ; round++ {
				select {
				case <-stop:
					return
				default:
				}
				if err := exercise(ctx, nodes[w%2], nodes[(w+1)%2], fmt.Sprintf("w%d/%d", w, round)); err != nil {
					t.Errorf("worker %d, round %d: %v", w, round, err)
					return
				}
			}
		})
	}
	rounds := 3
	if testing.Short() {
		rounds = 1
	}
	for i := range rounds {
		var guests []*cluster.Node
		for g := range 3 {
			n, err := cluster.Join(ctx, cluster.Config{Name: fmt.Sprintf("guest%d-%d", i, g), Memory: 64 << 20, Seeds: []string{nodes[g%2].ControlAddr()}})
			if err != nil {
				t.Fatal(err)
			}
			guests = append(guests, n)
			if err := exercise(ctx, n, nodes[0], fmt.Sprintf("guest%d/%d", i, g)); err != nil {
				t.Error(err)
			}
		}
		for _, n := range guests {
			if err := n.Leave(ctx); err != nil {
				t.Errorf("leave: %v", err)
			}
		}
	}
	close(stop)
	busy.Wait()
	left, err := nodes[0].List(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range left {
		t.Errorf("%s is left, %v", st.Object, st.State)
	}
}

// exercise puts, gets, reduces and deletes objects of its own.
func exercise(ctx context.Context, a, b *cluster.Node, name string) error {
	small, large := phalanx.ObjectID(name+"/small"), phalanx.ObjectID(name+"/large")
	for id, data := range map[phalanx.ObjectID][]byte{small: random(500, 1), large: random(300_000, 2)} {
		if _, err := a.Put(ctx, id, data); err != nil {
			return err
		}
		v, err := b.Get(ctx, id)
		if err != nil {
			return err
		}
		same := bytes.Equal(v.Bytes(), data)
		v.Release()
		if !same {
			return fmt.Errorf("%s: other bytes", id)
		}
	}
	var sources []phalanx.ObjectID
	for i := range 3 {
		id := phalanx.ObjectID(fmt.Sprintf("%s/source/%d", name, i))
		values := make([]float32, 40_000)
		for j := range values {
			values[j] = float32(i + 1)
		}
		if _, err := cluster.PutArray(ctx, []*cluster.Node{a, b}[i%2], id, values); err != nil {
			return err
		}
		sources = append(sources, id)
	}
	sum := phalanx.ObjectID(name + "/sum")
	if _, err := a.Reduce(ctx, storenode.Reduce{Target: sum, Sources: sources, Op: phalanx.Sum, Degree: 1}); err != nil {
		return err
	}
	v, err := cluster.GetArray[float32](ctx, b, sum)
	if err != nil {
		return err
	}
	for _, x := range v.Values() {
		if x != 6 {
			err = fmt.Errorf("%s: %v instead of 6", sum, x)
		}
	}
	v.Release()
	for _, id := range append(sources, small, large, sum) {
		err = errors.Join(err, b.Delete(ctx, id))
	}
	return err
}
