package cluster_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
)

// The bytes of small objects count where they lie: with the owners and backups
// of their shards.
func TestInlineBytesAreCounted(t *testing.T) {
	const small = 4 << 20
	nodes := start(t, 3, func(c *cluster.Config) {
		if c.Name != "n1" {
			c.Memory = small
		}
	})
	ctx := within(t)
	data := random(60_000, 1)
	put := 0
	var err error
	for err == nil && put < 1000 {
		id := phalanx.ObjectID(fmt.Sprint("o", put))
		if err = insist(ctx, func() error { _, err := nodes[0].Put(ctx, id, data); return err }); err == nil {
			put++
		}
	}
	var pe *phalanx.Error
	if !errors.As(err, &pe) || pe.Kind != phalanx.ErrNoSpace || !strings.Contains(pe.Error(), fmt.Sprint("of ", small)) {
		t.Fatalf("after %d puts: %v", put, err)
	}
	for _, n := range nodes[1:] {
		m := n.Status().Memory
		if m.Directory < small/4 || m.Used < m.Directory {
			t.Errorf("%s holds %d bytes for the directory, %d in all, after %d puts of %d", n.ID(), m.Directory, m.Used, put, len(data))
		}
	}
	for i := range put {
		if err := nodes[0].Delete(ctx, phalanx.ObjectID(fmt.Sprint("o", i))); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range nodes {
		quiet(t, n, 0)                                                // nothing is left of the one that was turned away, either
		if m := n.Status().Memory; m.Directory > 1000*int64(put+64) { // tombstones are left
			t.Errorf("%s holds %d bytes for the directory after all was deleted", n.ID(), m.Directory)
		}
	}
	if _, err := nodes[0].Put(ctx, "after", data); err != nil {
		t.Error(err)
	}
}

// A shard takes its account along when it moves: its owner and its backup count
// it, and nobody else.
func TestTheAccountOfAShardMoves(t *testing.T) {
	nodes := start(t, 1)
	const k, size = 50, 1000
	for i := range k {
		put(t, nodes[0], phalanx.ObjectID(fmt.Sprint("o", i)), random(size, uint64(i)))
	}
	once := nodes[0].Status().Memory.Directory
	if once < k*size {
		t.Fatalf("%d bytes are held for %d objects of %d", once, k, size)
	}
	held := func(n *cluster.Node) int64 { return n.Status().Memory.Directory }
	join := func() {
		n, err := cluster.Join(within(t), cluster.Config{Name: fmt.Sprint("m", len(nodes)), Memory: 64 << 20, Seeds: []string{nodes[0].ControlAddr()}})
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, n)
		t.Cleanup(func() { _ = n.Leave(within(t)) })
	}
	join()
	eventually(t, "copied", func() bool { return held(nodes[0]) == once && held(nodes[1]) == once })
	join()
	eventually(t, "spread", func() bool {
		a, b, c := held(nodes[0]), held(nodes[1]), held(nodes[2])
		return max(a, b, c) < once && a+b+c == 2*once
	})
	if err := nodes[2].Leave(within(t)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "taken over", func() bool { return held(nodes[0]) == once && held(nodes[1]) == once && held(nodes[2]) == 0 })
}
