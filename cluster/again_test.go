package cluster_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
)

// A deleted id can be put again as soon as its Delete has returned, at any node, and
// all read the new bytes.
func TestPutAgain(t *testing.T) {
	nodes := start(t, 4)
	ctx := within(t)
	for id, size := range map[phalanx.ObjectID]int{"empty": 0, "small": 1000, "large": 200_000} {
		for i := range 20 {
			data := random(size, uint64(i))
			if _, err := nodes[i%4].Put(ctx, id, data, cluster.WithCopies(1+i%3)); err != nil {
				t.Fatalf("put %d of %s: %v", i, id, err)
			}
			for _, n := range nodes {
				v, err := n.Get(ctx, id)
				if err != nil {
					t.Fatalf("get %d of %s at %s: %v", i, id, n.ID(), err)
				}
				if !bytes.Equal(v.Bytes(), data) {
					t.Errorf("get %d of %s at %s has other bytes", i, id, n.ID())
				}
				v.Release()
			}
			if err := nodes[(i/2)%4].Delete(ctx, id); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, n := range nodes {
		quiet(t, n, 0)
	}
}

// Somebody deletes an object and puts it again all the time. Nobody reads what was
// deleted before the Get began.
func TestReadersOfWhatIsPutAgain(t *testing.T) {
	nodes := start(t, 4)
	ctx := within(t)
	for _, size := range []int{64, 100_000} {
		id := phalanx.ObjectID(fmt.Sprint("o", size))
		var there atomic.Int64 // the last version of which a Put has returned
		var over atomic.Bool
		version := func(i int64) []byte {
			return append(binary.LittleEndian.AppendUint64(nil, uint64(i)), make([]byte, size)...)
		}
		if _, err := nodes[0].Put(ctx, id, version(0)); err != nil {
			t.Fatal(err)
		}
		var readers sync.WaitGroup
		for _, n := range nodes {
			readers.Go(func() {
				for !over.Load() {
					least := there.Load()
					v, err := n.Get(ctx, id)
					if errors.Is(err, phalanx.ErrDeleted) || errors.Is(err, phalanx.ErrUnavailable) { // as insist
						continue
					}
					if err != nil {
						t.Errorf("get at %s: %v", n.ID(), err)
						return
					}
					if got := int64(binary.LittleEndian.Uint64(v.Bytes())); got < least {
						t.Errorf("%s gets version %d, and version %d was put before", n.ID(), got, least)
					}
					v.Release()
					runtime.Gosched()
				}
			})
		}
		for i := int64(1); i <= 25 && !t.Failed(); i++ {
			n := nodes[i%4]
			if err := insist(ctx, func() error { return n.Delete(ctx, id) }); err != nil {
				t.Error(err)
			}
			if err := insist(ctx, func() error { _, err := nodes[(i+1)%4].Put(ctx, id, version(i)); return err }); err != nil {
				t.Errorf("put of version %d: %v", i, err)
			}
			there.Store(i)
		}
		over.Store(true)
		readers.Wait()
		if err := nodes[0].Delete(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range nodes {
		quiet(t, n, 0)
	}
}

// To delete what nobody has put changes nothing for who puts it.
func TestDeleteOfNothing(t *testing.T) {
	nodes := start(t, 3)
	ctx := within(t)
	if err := nodes[1].Delete(ctx, "new"); err != nil {
		t.Fatal(err)
	}
	if _, err := nodes[2].TryGet(ctx, "new"); !errors.Is(err, phalanx.ErrNotFound) {
		t.Errorf("it is not there, and a get says %v", err)
	}
	must(t)(nodes[0].Put(ctx, "new", []byte("bytes")))
	v, err := nodes[2].Get(ctx, "new")
	if err != nil || string(v.Bytes()) != "bytes" {
		t.Fatalf("it is %v %v", v, err)
	}
	v.Release()
}

// A target that was deleted can be made again, by the same Reduce too; and a source that
// was deleted and is put again is taken as it is now.
func TestReduceAgain(t *testing.T) {
	nodes := start(t, 4)
	ctx := within(t)
	for _, size := range []int{16, 50_000} {
		var sources []phalanx.ObjectID
		for i, n := range nodes {
			sources = append(sources, phalanx.ObjectID(fmt.Sprintf("s%d/%d", i, size)))
			must(t)(cluster.PutArray(ctx, n, sources[i], full(size, 1)))
		}
		target := phalanx.ObjectID(fmt.Sprint("t", size))
		for round := range 4 {
			want := float32(4 + round)
			if _, err := nodes[round].Reduce(ctx, storenode.Reduce{Target: target, Sources: sources, Op: phalanx.Sum}); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			for _, n := range nodes {
				a, err := cluster.GetArray[float32](ctx, n, target)
				if err != nil {
					t.Fatalf("round %d: %v", round, err)
				}
				if got := a.Values()[size-1]; got != want {
					t.Errorf("round %d: the sum at %s is %v, not %v", round, n.ID(), got, want)
				}
				a.Release()
			}
			for _, id := range []phalanx.ObjectID{target, sources[round]} {
				if err := nodes[3-round].Delete(ctx, id); err != nil {
					t.Fatal(err)
				}
			}
			must(t)(cluster.PutArray(ctx, nodes[3-round], sources[round], full(size, 2)))
		}
	}
}

// full returns n times v.
func full(n int, v float32) []float32 {
	a := make([]float32, n)
	for i := range a {
		a[i] = v
	}
	return a
}
