package dataplane

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/phalanx-go/phalanx"
)

func pool(t testing.TB, capacity int64) *Pool {
	p := NewPool(NewBudget(capacity))
	t.Cleanup(func() {
		p.Trim(0)
		if used := p.budget.Used(); used != 0 {
			t.Errorf("%d bytes were not given back", used)
		}
	})
	return p
}

// TestBufferOfAnOrigin writes objects of any size in parts of any size, known or not.
func TestBufferOfAnOrigin(t *testing.T) {
	p, data := pool(t, 64*mb), random(5*PieceSize+100)
	rapid.Check(t, func(t *rapid.T) {
		want := data[:rapid.SampledFrom([]int{0, 1, PieceSize - 1, PieceSize, PieceSize + 1, 3 * PieceSize, len(data)}).Draw(t, "size")]
		size := int64(len(want))
		if rapid.Bool().Draw(t, "unknown") {
			size = phalanx.UnknownSize
		}
		b, err := p.NewBuffer(context.Background(), size)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Release()
		for rest := want; len(rest) > 0; {
			sp := b.Space(rapid.IntRange(1, 2*PieceSize).Draw(t, "part"))
			n := copy(sp, rest)
			rest = rest[n:]
			b.Commit(n)
			if b.Watermark() != b.Arrived()/PieceSize*PieceSize && b.Watermark() != size {
				t.Fatalf("the watermark is %d of %d that arrived", b.Watermark(), b.Arrived())
			}
		}
		if err := b.Finish(int64(len(want))); err != nil {
			t.Fatal(err)
		}
		digest, ok := b.Digest()
		if !ok || digest != DigestBytes(want) || !bytes.Equal(b.Bytes(0, b.Size()), want) {
			t.Fatalf("complete %v, digest %v", ok, digest)
		}
		n := int64(len(want))
		if held := b.Held(); held > max(HeapMax, Charge(n), n+n/4) { // idle memory may be a quarter larger
			t.Fatalf("%d bytes are held for %d", held, n)
		}
	})
}

func TestReadFrom(t *testing.T) {
	p, want := pool(t, 64*mb), random(300_001)
	for _, size := range []int64{phalanx.UnknownSize, int64(len(want))} {
		b := buffer(t, p, size)
		n, err := b.ReadFrom(iotest.HalfReader(bytes.NewReader(want)))
		if err != nil || n != int64(len(want)) || b.Finish(n) != nil || !bytes.Equal(b.Bytes(0, n), want) {
			t.Fatalf("%d bytes, %v", n, err)
		}
	}
	short := buffer(t, p, 300_000)
	if _, err := short.ReadFrom(bytes.NewReader(want)); !errors.Is(err, phalanx.ErrInvalid) {
		t.Fatalf("a reader with too much: %v", err)
	}
	long := buffer(t, p, 300_002)
	if _, err := long.ReadFrom(bytes.NewReader(want)); err != nil {
		t.Fatal(err)
	}
	if err := long.Finish(300_001); !errors.Is(err, phalanx.ErrInvalid) || long.Complete() {
		t.Fatalf("a reader with too little: %v", err)
	}
	if _, err := buffer(t, p, 10).ReadFrom(iotest.ErrReader(io.ErrClosedPipe)); !errors.Is(err, io.ErrClosedPipe) {
		t.Fatalf("%v", err)
	}
	full := buffer(t, p, 3)
	if n, err := full.Write([]byte("four")); n != 3 || !errors.Is(err, phalanx.ErrInvalid) {
		t.Fatalf("%d, %v", n, err)
	}
}

func TestGrowthEndsAtTheCap(t *testing.T) {
	p := pool(t, 5*mb)
	b := buffer(t, p, phalanx.UnknownSize)
	n, err := b.Write(make([]byte, 6*mb))
	if !errors.Is(err, phalanx.ErrNoSpace) || n < 4*mb {
		t.Fatalf("%d bytes, %v", n, err)
	}
	if !strings.Contains(err.Error(), "of 5242880 are free") {
		t.Fatalf("%v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := b.Grow(ctx, 3*mb); !errors.Is(err, phalanx.ErrNoSpace) {
		t.Fatalf("%v", err)
	}
}

// TestGrowthStaysInPlace: readers keep the arrived bytes while the buffer grows.
func TestGrowthStaysInPlace(t *testing.T) {
	p, want := pool(t, 64*mb), random(9*mb)
	b := buffer(t, p, phalanx.UnknownSize)
	if err := b.Grow(context.Background(), 3*mb); err != nil {
		t.Fatal(err)
	}
	var early [][]byte
	for at := 0; at < len(want); at += 512 << 10 {
		if _, err := b.Write(want[at : at+512<<10]); err != nil {
			t.Fatal(err)
		}
		early = append(early, b.Bytes(int64(at), b.Arrived()))
	}
	if err := b.Finish(int64(len(want))); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(bytes.Join(early, nil), want) || b.Held() != 9*mb || p.budget.Used() != 9*mb {
		t.Fatalf("held %d, used %d", b.Held(), p.budget.Used())
	}
}

// TestBufferOfAReceiver lets bytes and checks come in any interleaving.
func TestBufferOfAReceiver(t *testing.T) {
	p := pool(t, 64*mb)
	src := filled(t, p, random(4*PieceSize+7))
	var checks [5]Check
	src.checksFrom(0, checks[:])
	rapid.Check(t, func(t *rapid.T) {
		b, err := p.NewBuffer(context.Background(), src.Size())
		if err != nil {
			t.Fatal(err)
		}
		defer b.Release()
		for told := int64(0); b.Arrived() < b.Size() || told < 5; {
			if told < 5 && (b.Arrived() == b.Size() || rapid.Bool().Draw(t, "check")) {
				if err := b.SetCheck(told, checks[told]); err != nil {
					t.Fatal(err)
				}
				told++
			} else {
				at := b.Arrived()
				n := copy(b.Space(rapid.IntRange(1, 100_000).Draw(t, "bytes")), src.Bytes(at, src.Size()))
				if err := b.CommitRaw(n); err != nil {
					t.Fatal(err)
				}
			}
			if done := min(told*PieceSize, b.Arrived()/PieceSize*PieceSize); b.Watermark() < done || b.Watermark() > b.Arrived() {
				t.Fatalf("watermark %d, arrived %d, %d checks", b.Watermark(), b.Arrived(), told)
			}
		}
		want, _ := src.Digest()
		if got, ok := b.Digest(); !ok || got != want {
			t.Fatalf("complete %v, digest %v, want %v", ok, got, want)
		}
	})
}

func TestBadPieceIsNamedAndComesAgain(t *testing.T) {
	for _, size := range []int{4 * PieceSize, 1000} {
		p := pool(t, 64*mb)
		src := filled(t, p, random(size))
		b := buffer(t, p, src.Size())
		bad := int64(size-1) / PieceSize
		sub := b.Subscribe()
		var err error
		for i := range bad + 1 {
			var c [1]Check
			src.checksFrom(i, c[:])
			n := copy(b.Space(PieceSize), src.Bytes(i*PieceSize, min((i+1)*PieceSize, src.Size())))
			if i == bad {
				b.Space(PieceSize)[500] ^= 1
			}
			if err = errors.Join(b.CommitRaw(n), b.SetCheck(i, c[0])); i < bad && err != nil {
				t.Fatal(err)
			}
		}
		var piece *BadPiece
		if !errors.As(err, &piece) || piece.Piece != bad || !errors.Is(err, phalanx.ErrCorrupt) || b.Complete() {
			t.Fatalf("%v", err)
		}
		if at := b.Resume(); at != bad*PieceSize || b.Arrived() != at {
			t.Fatalf("goes on at %d", at)
		}
		n := copy(b.Space(PieceSize), src.Bytes(bad*PieceSize, src.Size()))
		var c [1]Check
		src.checksFrom(bad, c[:])
		if err := errors.Join(b.SetCheck(bad, c[0]), b.CommitRaw(n)); err != nil || !b.Complete() {
			t.Fatalf("%v", err)
		}
		<-sub.C
		sub.Close()
	}
}

func TestCheckThatCannotBe(t *testing.T) {
	p := pool(t, mb)
	for name, piece := range map[string]int64{"a gap": 1, "behind the end": 2} {
		if err := buffer(t, p, 2*PieceSize).SetCheck(piece, Check{}); !errors.Is(err, phalanx.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	b := buffer(t, p, phalanx.UnknownSize)
	var err error
	for i := int64(0); err == nil && i < 100; i++ {
		err = b.SetCheck(i, Check{})
	}
	if !errors.Is(err, phalanx.ErrRefused) {
		t.Fatal("checks are kept without bound")
	}
	unchecked := buffer(t, p, 10)
	if err := unchecked.CommitRaw(10); err != nil {
		t.Fatal(err)
	}
	if err := unchecked.Finish(10); !errors.Is(err, phalanx.ErrRefused) || unchecked.Complete() {
		t.Fatalf("an end without checks: %v", err)
	}
}

// TestManyReadersFollow: every reader sees every byte while the buffer grows.
func TestManyReadersFollow(t *testing.T) {
	p, want := pool(t, 64*mb), random(3*mb+5)
	b := buffer(t, p, phalanx.UnknownSize)
	var wg sync.WaitGroup
	for range 4 {
		b.Retain()
		sub := b.Subscribe()
		wg.Go(func() {
			defer b.Release()
			defer sub.Close()
			for at := int64(0); !b.Complete() || at < b.Size(); {
				to := b.Watermark()
				if !bytes.Equal(b.Bytes(at, to), want[at:to]) {
					t.Errorf("bytes %d to %d are wrong", at, to)
					return
				}
				if at == to {
					<-sub.C
				}
				at = to
			}
		})
	}
	if n, err := b.ReadFrom(bytes.NewReader(want)); err != nil || b.Finish(n) != nil {
		t.Fatal(err)
	}
	wg.Wait()
}

func TestFailWakesReaders(t *testing.T) {
	b := buffer(t, pool(t, mb), 100)
	sub := b.Subscribe()
	b.Fail(phalanx.ErrDeleted)
	b.Fail(phalanx.ErrAborted)
	<-sub.C
	if !errors.Is(b.Err(), phalanx.ErrDeleted) {
		t.Fatalf("%v", b.Err())
	}
	sub.Close()
	b.Commit(copy(b.Space(1), "x"))
	if len(sub.C) != 0 {
		t.Fatal("a closed subscription is told")
	}
}
