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
	nodes := start(t, 5)
	ctx := within(t)
	const size = 4 << 18
	values := make([]float32, size/4)
	for i, id := range []phalanx.ObjectID{"a", "c"} {
		if _, err := cluster.PutArray(ctx, nodes[1+i], id, values); err != nil {
			t.Fatal(err)
		}
	}
	over := make(chan error, 1)
	go func() {
		_, err := nodes[0].Reduce(ctx, storenode.Reduce{Target: "sum", Sources: []phalanx.ObjectID{"a", "b", "c"}, Op: phalanx.Sum, Degree: 2})
		over <- err
	}()
	for _, n := range nodes {
		var tree cluster.Tree
		shown := func() bool {
			var err error
			tree, err = n.Tree(ctx, "sum")
			if err != nil || tree.Kind != "reduce" || len(tree.Nodes) != 2 || tree.Nodes[0].Place != 0 || tree.Nodes[1].Place != 1 {
				return false
			}
			root, leaf := tree.Nodes[0], tree.Nodes[1]
			return leaf.Held == size && root.Held == 0 && len(tree.Edges) == 1 // a leaf makes its source; the root lacks the other leaf
		}
		for !shown() {
			if ctx.Err() != nil {
				t.Fatalf("%s shows %+v", n.ID(), tree)
			}
			runtime.Gosched()
		}
		root, leaf := tree.Nodes[0], tree.Nodes[1]
		if tree.Degree != 2 || tree.Size != size || tree.State != "begun" {
			t.Errorf("%s shows %+v", n.ID(), tree)
		}
		if !root.Origin || leaf.Origin || root.Gen.IsZero() || leaf.Gen.IsZero() || root.Gen == leaf.Gen || root.Empty || leaf.Empty {
			t.Errorf("%s shows %+v", n.ID(), tree.Nodes)
		}
		if e := tree.Edges[0]; e.From != leaf.Node || e.To != root.Node || e.FromPlace != 1 || e.ToPlace != 0 {
			t.Errorf("%s shows %+v", n.ID(), tree.Edges)
		}
		holds := map[phalanx.ObjectID]phalanx.NodeID{"a": nodes[1].ID(), "c": nodes[2].ID()}
		if holds[root.Source] != root.Node || holds[leaf.Source] != leaf.Node || root.Source == leaf.Source {
			t.Errorf("%s shows %+v", n.ID(), tree.Nodes)
		}
	}
	if _, err := cluster.PutArray(ctx, nodes[2], "b", values); err != nil {
		t.Fatal(err)
	}
	if err := <-over; err != nil {
		t.Fatal(err)
	}
	tree, err := nodes[4].Tree(ctx, "sum")
	if err != nil || tree.Kind != "broadcast" || tree.State != "final" || len(tree.Nodes) != 1 || tree.Nodes[0].Held != size {
		t.Errorf("%+v, %v", tree, err)
	}
}
