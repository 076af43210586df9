package cluster_test

import (
	"fmt"
	"io"
	"slices"
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
		eventually(t, fmt.Sprintf("%s shows a leaf that is full", n.ID()), shown)
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
	eventually(t, "nodes[4] shows the one copy of the sum", func() bool { // a node that is busy does not answer soon
		tree, err := nodes[4].Tree(ctx, "sum")
		return err == nil && tree.Kind == "broadcast" && tree.State == "final" && len(tree.Nodes) == 1 && tree.Nodes[0].Held == size
	})
}

// While the last source arrives the tree shows how far the root has come.
func TestTreeShowsWhatTheRootHasMade(t *testing.T) {
	nodes := start(t, 3)
	ctx := within(t)
	data := make([]byte, 1<<20)
	array := cluster.WithArray(phalanx.Float32, 1<<18)
	if _, err := nodes[1].Put(ctx, "a", data, array); err != nil {
		t.Fatal(err)
	}
	source, end := io.Pipe()
	put := make(chan error, 1)
	go func() { _, err := nodes[2].PutReader(ctx, "b", source, int64(len(data)), array); put <- err }()
	over := make(chan error, 1)
	go func() {
		_, err := nodes[0].Reduce(ctx, storenode.Reduce{Target: "sum", Sources: []phalanx.ObjectID{"a", "b"}, Op: phalanx.Sum})
		over <- err
	}()
	for at := 0; at < len(data); at += len(data) / 4 {
		next := at + len(data)/4
		if _, err := end.Write(data[at:next]); err != nil {
			t.Fatal(err)
		}
		if next == len(data) {
			break
		}
		for _, n := range nodes {
			eventually(t, fmt.Sprintf("%s shows %d bytes of the root", n.ID(), next), func() bool {
				tree, err := n.Tree(ctx, "sum")
				return err == nil && tree.Kind == "reduce" && slices.ContainsFunc(tree.Nodes, func(tn cluster.TreeNode) bool { return tn.Origin && tn.Held == int64(next) })
			})
		}
	}
	_ = end.Close()
	for _, err := range []error{<-put, <-over} {
		if err != nil {
			t.Fatal(err)
		}
	}
}
