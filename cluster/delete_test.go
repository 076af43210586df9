package cluster_test

import (
	"errors"
	"runtime"
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
			for n.Status().Objects > 0 && ctx.Err() == nil {
				runtime.Gosched()
			}
			if s := n.Status(); s.Objects > 0 || s.Memory.Used-s.Memory.Idle != s.Memory.Directory {
				t.Fatalf("%s keeps %d copies after %s was deleted, %+v", s.Node, s.Objects, id, s.Memory)
			}
			if _, err := n.TryGet(ctx, id); !errors.Is(err, phalanx.ErrDeleted) {
				t.Errorf("%s gets %s: %v", n.ID(), id, err)
			}
		}
	}
}
