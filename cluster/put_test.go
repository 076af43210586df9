package cluster_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
)

// A Put says whether it created the object, small or large, by whatever node.
func TestPutTellsWhetherItCreated(t *testing.T) {
	nodes := start(t, 3)
	ctx := within(t)
	for id, data := range map[phalanx.ObjectID][]byte{"small": random(100, 1), "large": random(1<<20, 2)} {
		for i, n := range nodes {
			existed := i == 0
			if _, err := n.Put(ctx, id, data, cluster.TellExisted(&existed)); err != nil {
				t.Fatal(err)
			}
			if existed != (i > 0) {
				t.Errorf("%s on node %d: existed is %v", id, i, existed)
			}
		}
	}
}

// An array of a size that was not known must fit its type and shape in the end.
func TestPutOfAStreamThatIsNoArray(t *testing.T) {
	nodes := start(t, 2)
	ctx := within(t)
	for _, c := range []struct {
		size int
		as   cluster.PutOption
		text string
	}{
		{413, cluster.WithArray(phalanx.Float32), "413 bytes are no multiple"},
		{400, cluster.WithArray(phalanx.Float32, 99), "the shape [99] has 99 elements, the object has 100"},
		{1 << 20, cluster.WithArray(phalanx.Float32, 3), "the shape [3]"},
	} {
		_, err := nodes[1].PutReader(ctx, "a", bytes.NewReader(random(c.size, 1)), phalanx.UnknownSize, c.as)
		if !errors.Is(err, phalanx.ErrInvalid) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%d bytes: %v", c.size, err)
		}
		if _, err := nodes[0].TryGet(ctx, "a"); !errors.Is(err, phalanx.ErrNotFound) {
			t.Errorf("%d bytes: a Get ends with %v", c.size, err)
		}
	}
	if _, err := nodes[0].PutReader(ctx, "a", bytes.NewReader(random(400, 1)), phalanx.UnknownSize, cluster.WithArray(phalanx.Float32, 10, 10)); err != nil {
		t.Error(err)
	}
}
