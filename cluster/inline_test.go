package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
)

// Objects around the inline limit and around the size of a piece, known beforehand
// or not, reach readers that came before, and those that come after.
func TestInlineLimits(t *testing.T) {
	const piece = 64 << 10
	for _, limit := range []int64{-1, 1, 4 << 10, piece, piece + 1, cluster.MaxInlineLimit} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			nodes := start(t, 2, silent, func(c *cluster.Config) { c.InlineLimit = limit })
			steady(t, nodes)
			var ids []phalanx.ObjectID
			sizes := []int64{0, 1, limit - 1, limit, limit + 1, piece - 1, piece, piece + 1, 2*piece + 1, 4*piece + 1}
			slices.Sort(sizes)
			for _, size := range slices.Compact(sizes) {
				if size < 0 {
					continue
				}
				for _, known := range []bool{true, false} {
					id := phalanx.ObjectID(fmt.Sprintf("%d %v", size, known))
					putAndRead(t, nodes, id, random(int(size), uint64(size)), known)
					ids = append(ids, id)
				}
			}
			empty(t, nodes, ids...)
		})
	}
}

// putAndRead has the other node read an object while it is put, and after that.
func putAndRead(t *testing.T, nodes []*cluster.Node, id phalanx.ObjectID, data []byte, known bool) {
	t.Helper()
	ctx := within(t)
	whole := getting(ctx, nodes[1], id)
	opened := make(chan got, 1)
	go func() {
		r, err := nodes[1].Open(ctx, id)
		if err != nil {
			opened <- got{err: err}
			return
		}
		b, err := io.ReadAll(r)
		_ = r.Close()
		opened <- got{b, err}
	}()
	size := int64(phalanx.UnknownSize)
	if known {
		size = int64(len(data))
	}
	if _, err := nodes[0].PutReader(ctx, id, iotest.HalfReader(bytes.NewReader(data)), size); err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	for what, r := range map[string]got{"Get": <-whole, "Open": <-opened} {
		if r.err != nil || !bytes.Equal(r.bytes, data) {
			t.Errorf("%s of %q: %d bytes, %v", what, id, len(r.bytes), r.err)
		}
	}
	has(t, nodes[1], id, data)
	has(t, nodes[0], id, data)
}

// A receiver has a part of an object whose size nobody knew when it loses its
// sender, and the object ends below the inline limit: it goes on from its part.
func TestAnObjectThatEndsSmallAfterAPartWasSent(t *testing.T) {
	nodes := start(t, 3, silent, func(c *cluster.Config) { c.InlineLimit = cluster.MaxInlineLimit })
	steady(t, nodes)
	ctx := within(t)
	data := random(200<<10, 9)
	source, end := io.Pipe()
	done := make(chan error, 1)
	go func() { _, err := nodes[0].PutReader(ctx, "x", source, phalanx.UnknownSize); done <- err }()
	if _, err := end.Write(data[:130<<10]); err != nil {
		t.Fatal(err)
	}
	got := getting(ctx, nodes[1], "x")
	eventually(t, "bytes have come", func() bool { return nodes[1].Held("x") > 0 })
	nodes[0].BreakData(nodes[1].ID()) // the receiver locates again, and waits: the pair is barred for a second
	eventually(t, "it waits", func() bool { return waits(ctx, nodes[2], "x", nodes[1].ID()) })
	_, _ = end.Write(data[130<<10:])
	_ = end.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if g := <-got; g.err != nil || !bytes.Equal(g.bytes, data) {
		t.Errorf("%d bytes, %v", len(g.bytes), g.err)
	}
	has(t, nodes[1], "x", data)
	has(t, nodes[2], "x", data)
	empty(t, nodes, "x")
}

func waits(ctx context.Context, n *cluster.Node, id phalanx.ObjectID, who phalanx.NodeID) bool {
	st, err := n.Stat(ctx, id)
	return err == nil && slices.Contains(st.Waiting, who)
}

func TestInlineLimitOfMoreThanAMessageCarries(t *testing.T) {
	for limit, want := range map[int64]error{0: nil, -1: nil, cluster.MaxInlineLimit: nil, cluster.MaxInlineLimit + 1: phalanx.ErrInvalid, 1 << 20: phalanx.ErrInvalid} {
		if err := (cluster.Config{InlineLimit: limit}).Validate(); !errors.Is(err, want) {
			t.Errorf("a limit of %d: %v", limit, err)
		}
	}
}
