package cluster_test

import (
	"bytes"
	"io"
	"slices"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
)

// A Reduce of another's target begins with the first bytes of that (specification 4.2):
// half of one array passes three of them before the rest of it exists.
func TestComposedReducesStream(t *testing.T) {
	nodes := start(t, 5, silent)
	ctx := within(t)
	const size = 4 << 20
	ones := slices.Repeat([]int64{1}, size/8)
	whole := []phalanx.ObjectID{"a", "c", "d"}
	for i, id := range whole {
		if _, err := cluster.PutArray(ctx, nodes[i], id, ones); err != nil {
			t.Fatal(err)
		}
	}
	source, end := io.Pipe()
	over := make(chan error, 4)
	go func() {
		_, err := nodes[3].PutReader(ctx, "b", source, size, cluster.WithArray(phalanx.Int64, size/8))
		over <- err
	}()
	half := bytes.Repeat([]byte{1, 0, 0, 0, 0, 0, 0, 0}, size/16)
	if _, err := end.Write(half); err != nil {
		t.Fatal(err)
	}
	targets := []phalanx.ObjectID{"t1", "t2", "t3"}
	for i, sources := range [][]phalanx.ObjectID{{"a", "b"}, {"t1", "c"}, {"t2", "d"}} {
		go func() {
			_, err := nodes[4].Reduce(ctx, storenode.Reduce{Target: targets[i], Sources: sources, Op: phalanx.Sum, Degree: 1})
			over <- err
		}()
	}
	r, err := nodes[4].Open(ctx, "t3")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	made := make([]byte, size/4)
	if _, err := io.ReadFull(r, made); err != nil || !bytes.Equal(made, bytes.Repeat([]byte{4, 0, 0, 0, 0, 0, 0, 0}, size/32)) {
		t.Errorf("a reader of the last target got something else: %v", err)
	}
	for _, id := range targets {
		st, err := nodes[4].Stat(ctx, id)
		if err != nil || st.State.String() != "begun" || st.Meta.Size != size {
			t.Errorf("%s: %v %d bytes, %v", id, st.State, st.Meta.Size, err)
		}
	}
	if _, err := end.Write(half); err != nil {
		t.Fatal(err)
	}
	if err := end.Close(); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		if err := <-over; err != nil {
			t.Error(err)
		}
	}
	v, err := nodes[0].Get(ctx, "t3")
	if err != nil {
		t.Fatal(err)
	}
	if a, err := cluster.ArrayOf[int64](v); err != nil || slices.Min(a.Values()) != 4 || slices.Max(a.Values()) != 4 {
		t.Errorf("the sum is not 4 everywhere: %v", err)
	}
	v.Release()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	empty(t, nodes, append(append(whole, "b"), targets...)...)
}
