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
		if _, err = nodes[0].Put(ctx, phalanx.ObjectID(fmt.Sprint("o", put)), data); err == nil {
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
		if m := n.Status().Memory; m.Directory > 1000*int64(put+64) { // tombstones are left
			t.Errorf("%s holds %d bytes for the directory after all was deleted", n.ID(), m.Directory)
		}
	}
	if _, err := nodes[0].Put(ctx, "after", data); err != nil {
		t.Error(err)
	}
}
