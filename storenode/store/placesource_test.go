package store

import (
	"bytes"
	"testing"
	"testing/synctest"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/copies"
	"github.com/phalanx-go/phalanx/protocol/reduce"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// The source of a place is a copy that another node sends here, and a piece of it is bad. The place
// combines bytes once they are checked, and the good ones that come instead.
func TestBytesOfASourceAreCheckedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = dataplane.PieceSize + 8
		pool := dataplane.NewPool(dataplane.NewBudget(8 * size))
		buf, out := pool.TryBuffer(size), pool.TryBuffer(size)
		table := NewTable(pool.Budget())
		s := &placeSource{buffer: buf, copy: table.newCopy(copies.Copy{}, buf, nil)}
		o := &output{meta: phalanx.Meta{Size: size, DType: phalanx.Uint64}, ctx: t.Context(), sink: sink{buffer: out}, space: out.Space(size), gen: reduce.PlaceGen{}}
		o.left.Store(2) // a child's output does not come
		f := &folder{place: -1, wake: make(chan struct{}, 1)}
		buf.Retain()
		o.done.Add(1)
		go new(place).foldSource(o, f, nil, true, s)

		good, bad := bytes.Repeat([]byte{7}, size), bytes.Repeat([]byte{8}, size)
		half := dataplane.PieceSize / 2
		copy(buf.Space(half), bad)
		_ = buf.CommitRaw(half)
		synctest.Wait()
		if n := f.passed.Load(); n != 0 {
			t.Errorf("%d bytes that are not checked are combined", n)
		}
		buf.Resume()
		copy(buf.Space(size), good)
		for piece := range dataplane.Pieces(size) {
			lo := piece * dataplane.PieceSize
			if err := buf.SetCheck(piece, dataplane.CheckOf(good[lo:min(lo+dataplane.PieceSize, size)])); err != nil {
				t.Fatal(err)
			}
		}
		if err := buf.CommitRaw(size); err != nil {
			t.Fatal(err)
		}
		o.done.Wait()
		if !bytes.Equal(out.Bytes(0, size), good) {
			t.Error("the output has bytes of the bad piece")
		}
		out.Release()
		buf.Release()
	})
}
