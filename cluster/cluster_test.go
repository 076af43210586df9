package cluster_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
)

// start joins k nodes in this process and has them leave when the test ends.
func start(t testing.TB, k int, change ...func(*cluster.Config)) []*cluster.Node {
	t.Helper()
	var nodes []*cluster.Node
	for i := range k {
		cfg := cluster.Config{Name: fmt.Sprintf("n%d", i+1), Memory: 256 << 20}
		if i > 0 {
			cfg.Seeds = []string{nodes[0].ControlAddr()}
		}
		for _, c := range change {
			c(&cfg)
		}
		n, err := cluster.Join(within(t), cfg)
		if err != nil {
			t.Fatalf("node %d: %v", i+1, err)
		}
		nodes = append(nodes, n)
		t.Cleanup(func() {
			defer n.Close()
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // thousands of objects, on a busy machine
			defer cancel()
			if err := n.Leave(ctx); err != nil {
				t.Errorf("leave: %v", err)
			}
		})
	}
	return nodes
}

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func random(n int, seed uint64) []byte {
	b := make([]byte, n)
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	_, _ = rand.NewChaCha8(key).Read(b) // never fails
	return b
}

func TestPutAndGet(t *testing.T) {
	for _, k := range []int{1, 2, 5} {
		t.Run(fmt.Sprintf("%d nodes", k), func(t *testing.T) {
			nodes := start(t, k)
			ctx := within(t)
			for i, size := range []int{0, 1, 1000, 64 << 10, 1<<20 + 3, 5 << 20} {
				id := phalanx.ObjectID(fmt.Sprintf("object/%d", size))
				data := random(size, uint64(size))
				if _, err := nodes[i%k].Put(ctx, id, data); err != nil {
					t.Fatal(err)
				}
				for _, n := range nodes {
					v, err := n.Get(ctx, id)
					if err != nil {
						t.Fatalf("%s: %v", n.ID(), err)
					}
					if !bytes.Equal(v.Bytes(), data) {
						t.Errorf("%s got other bytes of %s", n.ID(), id)
					}
					v.Release()
				}
				if err := nodes[0].Delete(ctx, id); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestReduce(t *testing.T) {
	nodes := start(t, 5)
	ctx := within(t)
	for _, size := range []int{100, 300_000} {
		for _, degree := range []int{0, 1, 2, 6} {
			t.Run(fmt.Sprintf("%d elements, degree %d", size, degree), func(t *testing.T) {
				var sources []phalanx.ObjectID
				want := make([]float32, size)
				for i := range 6 {
					id := phalanx.ObjectID(fmt.Sprintf("source/%d/%d/%d", size, degree, i))
					sources = append(sources, id)
					values := make([]float32, size)
					for j := range values {
						values[j] = float32(i*j%1000 + 1)
						want[j] += values[j]
					}
					if _, err := cluster.PutArray(ctx, nodes[i%5], id, values); err != nil {
						t.Fatal(err)
					}
				}
				target := phalanx.ObjectID(fmt.Sprintf("target/%d/%d", size, degree))
				res, err := nodes[1].Reduce(ctx, storenode.Reduce{Target: target, Sources: sources, Op: phalanx.Sum, Degree: degree})
				if err != nil {
					t.Fatal(err)
				}
				if len(res.In) != 6 || len(res.Out) != 0 {
					t.Errorf("in %v, out %v", res.In, res.Out)
				}
				a, err := cluster.GetArray[float32](ctx, nodes[3], target)
				if err != nil {
					t.Fatal(err)
				}
				defer a.Release()
				for j, v := range a.Values() {
					if v != want[j] {
						t.Fatalf("element %d is %v, want %v", j, v, want[j])
					}
				}
			})
		}
	}
}
