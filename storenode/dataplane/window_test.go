package dataplane

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/phalanx-go/phalanx"
)

// fill writes the bytes of p for which the window has room, in parts of at most n bytes, and
// returns how many bytes it has written.
func fill(w *Window, p []byte, n int64) int64 {
	for {
		at := w.Arrived()
		end := min(w.Granted(), at+n)
		if end == at {
			return at
		}
		w.Commit(copy(w.At(at, end), p[at:end]))
	}
}

func window(t testing.TB, p *Pool, size int64) *Window {
	t.Helper()
	w, err := p.NewWindow(deadline(t), size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Release)
	return w
}

// TestWindow reads outputs of any size through smaller windows, by readers that leave off and go
// on: the kept bytes are right, the writer never overwrites unread bytes, and the window refuses
// only bytes that are gone.
func TestWindow(t *testing.T) {
	data := random(2*WindowMax + 100)
	rapid.Check(t, func(t *rapid.T) {
		p := NewPool(NewBudget(rapid.SampledFrom([]int64{WindowMin, 2 * WindowMin, WindowMax}).Draw(t, "cap")))
		size := rapid.SampledFrom([]int64{1, PieceSize, WindowMin + 1, 20*PieceSize - 1, int64(len(data))}).Draw(t, "size")
		w, err := p.NewWindow(context.Background(), size)
		if err != nil {
			t.Fatal(err)
		}
		want := data[:size]
		pos, furthest, oldest := int64(0), int64(0), int64(0) // the reader's bytes, the most it had, and the bytes that are gone
		for done := false; !done; {
			_, leave, err := w.join(context.Background(), pos)
			if err != nil {
				t.Fatalf("from %d: %v", pos, err)
			}
			for range rapid.IntRange(5, 50).Draw(t, "parts") {
				at := fill(w, want, rapid.Int64Range(10_000, 200_000).Draw(t, "part"))
				if at-pos > int64(len(w.ring)) {
					t.Fatalf("%d bytes are made, of %d that the reader has, in a window of %d", at, pos, len(w.ring))
				}
				oldest = max(oldest, at-int64(len(w.ring)))
				part := w.next(pos, rapid.Int64Range(PieceSize, MaxData).Draw(t, "read"), size)
				if len(part) == 0 && pos < size {
					t.Fatalf("nothing to read at %d of %d that are made: the writer waits for ever", pos, at)
				}
				if !bytes.Equal(part, want[pos:pos+int64(len(part))]) {
					t.Fatalf("other bytes at %d", pos)
				}
				pos += int64(len(part))
				furthest = max(furthest, pos)
				w.took(pos)
			}
			leave()
			done = pos == size
			back := rapid.Int64Range(0, w.tail/PieceSize).Draw(t, "back")
			pos = min(pos, max(0, furthest/PieceSize-back)*PieceSize)
			pos -= pos % PieceSize
		}
		if d, ok := w.Digest(); !ok || d != DigestBytes(want) {
			t.Fatalf("the digest is %v", d)
		}
		if oldest >= PieceSize {
			if _, _, err := w.join(context.Background(), 0); !errors.Is(err, ErrDropped) {
				t.Fatalf("a reader from 0, when %d bytes are gone: %v", oldest, err)
			}
		}
		w.Release()
		p.Trim(0)
		if used := p.budget.Used(); used != 0 {
			t.Fatalf("%d bytes were not given back", used)
		}
	})
}

// TestWindowSizes takes as much room as there is.
func TestWindowSizes(t *testing.T) {
	for _, c := range []struct{ cap, size, held int64 }{
		{64 * mb, 64 * mb, WindowMax},
		{3 * mb, 64 * mb, 2 * mb},
		{WindowMin, 64 * mb, WindowMin},
		{WindowMin, PieceSize + 1, 2 * PieceSize},
		{64 * mb, 10, PieceSize},
	} {
		p := pool(t, c.cap)
		if w := window(t, p, c.size); w.Held() != c.held {
			t.Errorf("with a cap of %d for %d bytes the window has %d, want %d", c.cap, c.size, w.Held(), c.held)
		}
	}
	p := pool(t, WindowMin+1)
	window(t, p, mb)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.NewWindow(ctx, mb); !errors.Is(err, phalanx.ErrNoSpace) {
		t.Errorf("a window for which there is no room: %v", err)
	}
}

// TestSendWindow streams an output through a window. The receiver goes on with another stream, and
// at the end asks for bytes that are gone.
func TestSendWindow(t *testing.T) {
	data := random(2*WindowMax + 5*PieceSize + 10)
	win := window(t, pool(t, WindowMax), int64(len(data)))
	ended := make(chan error, 1)
	var w town
	w.node(t, "a", func(c *Config) {
		c.OnStream = func(_ phalanx.NodeID, r Request, w *Writer) {
			err := w.SendWindow(w.Context(), win, r.Offset, SendOptions{Checked: r.Checked, Patient: true})
			if errors.Is(err, ErrDropped) {
				_ = w.Gone(phalanx.ErrNotFound, err.Error())
			}
			ended <- err
		}
	})
	b := w.node(t, "b", nil)
	open := func(from int64) *Stream {
		r := request
		r.Offset = from
		s, err := b.Open(deadline(t), "a", r)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	few := int64(10 * PieceSize) // fewer than the sent bytes that the window keeps
	win.Commit(copy(win.At(0, few), data))
	first := open(0)
	defer first.Close()
	got := make([]byte, 3*PieceSize)
	if _, err := io.ReadFull(first, got); err != nil || !bytes.Equal(got, data[:len(got)]) {
		t.Fatal(err)
	}
	second := open(2 * PieceSize)
	defer second.Close()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the first stream ended with %v", err)
	}
	var writer sync.WaitGroup
	writer.Go(func() {
		for fill(win, data, 100_000) < win.Size() {
			<-win.Room()
		}
	})
	rest, err := io.ReadAll(second)
	if err != nil || !bytes.Equal(rest, data[2*PieceSize:]) {
		t.Fatalf("%d of %d bytes, %v", len(rest), len(data)-2*PieceSize, err)
	}
	writer.Wait()
	if err := <-ended; err != nil {
		t.Errorf("the second stream ended with %v", err)
	}
	third := open(0)
	defer third.Close()
	var end *Ended
	if _, err := io.ReadAll(third); !errors.As(err, &end) || end.Reason != Gone {
		t.Errorf("a stream of what is gone: %v", err)
	}
}

// TestFailedWindow ends a stream whose receiver reads nothing.
func TestFailedWindow(t *testing.T) {
	data := random(8 * WindowMax)
	win := window(t, pool(t, WindowMax), 1<<40)
	ended := make(chan error, 1)
	var w town
	w.node(t, "a", func(c *Config) {
		c.OnStream = func(_ phalanx.NodeID, r Request, w *Writer) {
			ended <- w.SendWindow(w.Context(), win, 0, SendOptions{Patient: true})
		}
	})
	s, err := w.node(t, "b", nil).Open(deadline(t), "a", request)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	fill(win, data[:WindowMax], MaxData)
	lost := errors.New("lost")
	win.Fail(lost)
	if err := <-ended; !errors.Is(err, lost) && !errors.Is(err, os.ErrDeadlineExceeded) { // the latter in the middle of a frame
		t.Errorf("the stream ended with %v", err)
	}
}

// TestPatience lets a receiver read nothing for as long as another would be given up.
func TestPatience(t *testing.T) {
	data := random(24 * mb) // more than the kernel's buffers hold
	b := filled(t, pool(t, 64*mb), data)
	ended := make(chan error, 2)
	var w town
	w.node(t, "a", func(c *Config) {
		c.WriteStall = 20 * time.Millisecond
		c.OnStream = func(_ phalanx.NodeID, r Request, w *Writer) {
			ended <- w.SendBuffer(w.Context(), b, 0, SendOptions{Patient: r.Lease == 1})
		}
	})
	c := w.node(t, "b", nil)
	open := func(lease uint64) *Stream {
		r := request
		r.Lease = lease
		s, err := c.Open(deadline(t), "a", r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return s
	}
	patient := open(1)
	open(2)
	if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the impatient stream ended with %v", err)
	}
	got, err := io.ReadAll(patient)
	if err != nil || !bytes.Equal(got, data) {
		t.Fatalf("%d of %d bytes, %v", len(got), len(data), err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
