package cluster_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
)

// TestReduceOfPartsAfterAMove has shards get other owners in the middle of Puts. They hear
// from the node that puts that it has begun, and a Reduce streams what there is.
func TestReduceOfPartsAfterAMove(t *testing.T) {
	nodes := start(t, 2)
	ctx := within(t)
	const size, count = 256 << 10, 16
	half := bytes.Repeat([]byte{1, 0, 0, 0, 0, 0, 0, 0}, size/16)
	var sources []phalanx.ObjectID
	var ends []*io.PipeWriter
	over := make(chan error, count+1)
	for i := range count {
		id := phalanx.ObjectID(fmt.Sprint("x", i))
		source, end := io.Pipe()
		sources, ends = append(sources, id), append(ends, end)
		go func() {
			_, err := nodes[0].PutReader(ctx, id, source, size, cluster.WithArray(phalanx.Int64, size/8))
			over <- err
		}()
		if _, err := end.Write(half); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		n, err := cluster.Join(ctx, cluster.Config{Name: fmt.Sprint("late", i), Memory: 64 << 20, Seeds: []string{nodes[0].ControlAddr()}})
		if err != nil {
			t.Fatal(err)
		}
		defer n.Close()
		nodes = append(nodes, n)
	}
	last := nodes[len(nodes)-1]
	eventually(t, "settled", func() bool { return last.Settled(ctx) })
	go func() {
		_, err := last.Reduce(ctx, storenode.Reduce{Target: "sum", Sources: sources, Op: phalanx.Sum})
		over <- err
	}()
	r, err := last.Open(ctx, "sum")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := make([]byte, size/2)
	if _, err := io.ReadFull(r, got); err != nil || !bytes.Equal(got, bytes.Repeat([]byte{count, 0, 0, 0, 0, 0, 0, 0}, size/16)) {
		t.Errorf("the half of the sum is something else: %v", err)
	}
	for _, end := range ends {
		if _, err := end.Write(half); err != nil {
			t.Fatal(err)
		}
		_ = end.Close()
	}
	for range cap(over) {
		if err := <-over; err != nil {
			t.Error(err)
		}
	}
}
