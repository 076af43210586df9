package cluster_test

import (
	"testing"
)

// TestPutOfWhatIsFetched puts, on a node whose sender has fallen silent, the bytes
// that it is fetching. Its owner lists the copy there as complete from then on, so
// it must be.
func TestPutOfWhatIsFetched(t *testing.T) {
	nodes, links := startBent(t, 3, "n1")
	steady(t, nodes)
	ctx := within(t)
	origin, both, other := nodes[0], nodes[1], nodes[2]
	data := random(24<<20, 1)
	if _, err := origin.Put(ctx, "x", data); err != nil {
		t.Fatal(err)
	}
	free := make(chan struct{})
	links["n1"].set(func(c *bentStream, kind byte, _ []byte) {
		if kind == frameData && c.data > 8 {
			<-free
		}
	})
	fetched := getting(ctx, both, "x")
	eventually(t, "bytes have come", func() bool { return links["n1"].bytesTo("n2") > 0 })
	if _, err := both.Put(ctx, "x", data); err != nil {
		t.Fatal(err)
	}
	brings(t, "who was fetching it", fetched, data)
	st, err := origin.Stat(ctx, "x")
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range st.Holders {
		if h.Node == both.ID() && !(h.Complete && h.Pinned) {
			t.Errorf("the owner lists %v", h)
		}
	}
	close(free)
	if err := origin.Leave(ctx); err != nil {
		t.Fatal(err)
	}
	brings(t, "another one", getting(ctx, other, "x"), data)
}
