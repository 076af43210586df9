package cluster_test

import (
	"runtime"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
)

// Any node shows the tree of a reduce, also one that has nothing to do with it.
func TestTreeOfAReduceFromAnyNode(t *testing.T) {
	nodes := start(t, 4)
	ctx := within(t)
	values := make([]float32, 1<<18)
	if _, err := cluster.PutArray(ctx, nodes[1], "a", values); err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() {
		_, err := nodes[0].Reduce(ctx, storenode.Reduce{Target: "sum", Sources: []phalanx.ObjectID{"a", "b"}, Op: phalanx.Sum})
		over <- err
	}()
	for _, n := range nodes {
		for {
			tree, err := n.Tree(ctx, "sum")
			if err == nil && tree.Kind == "reduce" {
				if p := tree.Nodes[0]; len(tree.Nodes) != 1 || p.Node != nodes[1].ID() || p.Source != "a" || p.Held != 4<<18 {
					t.Errorf("%s shows %+v", n.ID(), tree.Nodes)
				}
				break
			}
			if ctx.Err() != nil {
				t.Fatalf("%s shows %+v, %v", n.ID(), tree, err)
			}
			runtime.Gosched()
		}
	}
	if _, err := cluster.PutArray(ctx, nodes[2], "b", values); err != nil {
		t.Fatal(err)
	}
	if err := <-over; err != nil {
		t.Fatal(err)
	}
	tree, err := nodes[3].Tree(ctx, "sum")
	if err != nil || tree.Kind != "broadcast" || tree.State != "final" || len(tree.Nodes) != 1 || tree.Nodes[0].Held != 4<<18 {
		t.Errorf("%+v, %v", tree, err)
	}
}
