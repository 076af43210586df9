package cluster_test

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/phalanx-go/phalanx"
)

// Who has read an object, however small, has nothing of it after its delete.
func TestADeleteReachesEveryCopy(t *testing.T) {
	nodes := start(t, 4)
	ctx := within(t)
	for id, size := range map[phalanx.ObjectID]int{"empty": 0, "small": 1000, "large": 200_000} {
		if _, err := nodes[1].Put(ctx, id, random(size, 1)); err != nil {
			t.Fatal(err)
		}
		for _, n := range nodes {
			v, err := n.Get(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			v.Release()
		}
		if err := nodes[2].Delete(ctx, id); err != nil {
			t.Fatal(err)
		}
		for _, n := range nodes {
			// A stream that still reads the bytes holds them until it has ended.
			for s := n.Status(); s.Objects > 0 || s.Memory.Used-s.Memory.Idle != s.Memory.Directory; s = n.Status() {
				if ctx.Err() != nil {
					t.Fatalf("%s keeps %d copies after %s was deleted, %+v", s.Node, s.Objects, id, s.Memory)
				}
				runtime.Gosched()
			}
			if _, err := n.TryGet(ctx, id); !errors.Is(err, phalanx.ErrDeleted) {
				t.Errorf("%s gets %s: %v", n.ID(), id, err)
			}
		}
	}
}

// A Delete in the middle of Puts of the same object: one that comes after it puts the
// object again. Once nobody puts any more, a Delete leaves nothing.
func TestADeleteAmongPuts(t *testing.T) {
	nodes := start(t, 3)
	ctx := within(t)
	for i := range 300 {
		id := phalanx.ObjectID(fmt.Sprint("object/", i))
		data := random(1000+i%2*100_000, uint64(i))
		var all sync.WaitGroup
		for _, n := range nodes[:2] {
			all.Go(func() {
				if _, err := n.Put(ctx, id, data); err != nil && !errors.Is(err, phalanx.ErrDeleted) {
					t.Error(err)
				}
			})
		}
		all.Go(func() {
			for range i % 50 * 10 {
				runtime.Gosched()
			}
			if err := nodes[2].Delete(ctx, id); err != nil {
				t.Error(err)
			}
		})
		all.Wait()
		if err := nodes[2].Delete(ctx, id); err != nil {
			t.Error(err)
		}
	}
	for _, n := range nodes {
		for n.Status().Objects > 0 && ctx.Err() == nil {
			runtime.Gosched()
		}
		if s := n.Status(); s.Objects > 0 {
			t.Errorf("%s keeps %d copies", s.Node, s.Objects)
		}
	}
}
