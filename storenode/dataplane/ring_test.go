package dataplane

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/phalanx-go/phalanx"
)

// addWords adds 32-bit words.
func addWords(dst, src []byte) error {
	for i := 0; i+4 <= len(dst); i += 4 {
		binary.LittleEndian.PutUint32(dst[i:], binary.LittleEndian.Uint32(dst[i:])+binary.LittleEndian.Uint32(src[i:]))
	}
	return nil
}

// ringBuffer returns an empty buffer whose reference is the caller's.
func ringBuffer(t *testing.T, p *Pool, size int64) *Buffer {
	t.Helper()
	b := p.TryBuffer(size)
	if b == nil {
		t.Fatal("there is no room")
	}
	return b
}

// Each place of a ring ends with the sum of all arrays, whatever their size, and with the digest of
// a buffer with these bytes.
func TestRing(t *testing.T) {
	for _, c := range []struct{ places, size int }{
		{2, 2 * PieceSize}, {3, 3 * PieceSize}, {4, 16 * PieceSize}, {5, 7 * PieceSize},
		{2, PieceSize + 4}, {3, 2*PieceSize + 8}, {4, 11*PieceSize + 1020}, {8, 3 << 20}, {5, 4<<20 + 12},
	} {
		t.Run(fmt.Sprintf("%d places, %d bytes", c.places, c.size), func(t *testing.T) { testRing(t, c.places, c.size) })
	}
}

func testRing(t *testing.T, places, size int) {
	p := NewPool(NewBudget(1 << 30))
	w := &town{}
	rnd := rand.New(rand.NewPCG(1, uint64(size)))
	want := make([]byte, size)
	rings := make([]*Ring, places)
	results := make([]*Buffer, places)
	name := func(i int) phalanx.NodeID { return phalanx.NodeID(fmt.Sprintf("n%d#1", i)) }
	for i := range rings {
		own := make([]byte, size)
		for k := range own {
			own[k] = byte(rnd.Uint32())
		}
		_ = addWords(want, own)
		source := ringBuffer(t, p, int64(size))
		_, _ = source.Write(own)
		results[i] = ringBuffer(t, p, int64(size))
		results[i].Retain()
		rings[i] = NewRing(source, results[i], i, places, addWords)
	}
	nodes := make([]*Conns, places)
	var all sync.WaitGroup
	all.Add(places) // one stream to each place
	for i := range nodes {
		nodes[i] = w.node(t, name(i), func(cfg *Config) {
			cfg.OnStream = func(_ phalanx.NodeID, _ Request, out *Writer) {
				defer all.Done()
				if err := out.SendRing(out.Context(), rings[i], SendOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range nodes {
		all.Go(func() {
			s, err := nodes[i].Open(context.Background(), name((i+places-1)%places), Request{Kind: Place, Object: "t", Reduce: "r"})
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			if end := s.ReceiveRing(rings[i], Progress{}); end.Reason != Complete {
				t.Errorf("place %d: %v", i, end)
			}
		})
	}
	all.Wait()
	for i, r := range results {
		if digest, ok := r.Digest(); !ok || digest != DigestBytes(want) || string(r.Bytes(0, int64(size))) != string(want) {
			t.Errorf("place %d has another result", i)
		}
		rings[i].Release()
		r.Release()
	}
	if used := p.budget.Used() - p.Idle(); used != 0 {
		t.Errorf("%d bytes are still held", used)
	}
}

// The place that gets a changed byte, in any step, notices it and completes nothing.
func TestRingNoticesBadBytes(t *testing.T) {
	p := NewPool(NewBudget(1 << 30))
	const size = 6 * PieceSize
	for _, places := range []int{2, 3} {
		t.Run(fmt.Sprint(places), func(t *testing.T) { noticesBadBytes(t, p, places, size) })
	}
}

func noticesBadBytes(t *testing.T, p *Pool, places int, size int64) {
	for at := int64(0); at < 2*int64(places-1)*size/int64(places); at += PieceSize / 2 {
		source, result := ringBuffer(t, p, size), ringBuffer(t, p, size)
		_, _ = source.Write(make([]byte, size))
		result.Retain()
		r := NewRing(source, result, 1, places, addWords)
		in := newRingInput(r)
		var err error
		for pos := int64(0); pos < in.Size() && err == nil; {
			sp := in.Space(PieceSize)
			clear(sp)
			if at >= pos && at < pos+int64(len(sp)) {
				sp[at-pos] = 1
			}
			pos += int64(len(sp))
			if err = in.CommitRaw(len(sp)); err == nil {
				err = in.SetCheck(pos/PieceSize-1, CheckOf(make([]byte, PieceSize)))
			}
		}
		if err == nil {
			t.Fatalf("byte %d has changed, and nobody has noticed", at)
		}
		if summed := at < int64(places-1)*size/int64(places); result.Complete() || summed && r.Complete() {
			t.Fatalf("byte %d has changed, and the result is complete: %v, or what is sent on: %v", at, result.Complete(), r.Complete())
		}
		r.Release()
		result.Release()
	}
}
