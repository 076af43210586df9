package cluster_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
)

// Whoever deletes the target of a reduce that waits for sources ends it.
func TestDeleteOfATargetThatIsMade(t *testing.T) {
	nodes := start(t, 3)
	ctx := within(t)
	if _, err := cluster.PutArray(ctx, nodes[1], "a", make([]float32, 1<<18)); err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() {
		_, err := nodes[0].Reduce(ctx, storenode.Reduce{Target: "sum", Sources: []phalanx.ObjectID{"a", "never"}, Op: phalanx.Sum})
		over <- err
	}()
	for {
		if tree, err := nodes[2].Tree(ctx, "sum"); err == nil && tree.Kind == "reduce" {
			break
		}
		if ctx.Err() != nil {
			t.Fatal("it does not begin")
		}
		runtime.Gosched()
	}
	if err := nodes[2].Delete(ctx, "sum"); err != nil {
		t.Fatal(err)
	}
	if err := <-over; !errors.Is(err, phalanx.ErrDeleted) {
		t.Errorf("the reduce ended with %v", err)
	}
}
