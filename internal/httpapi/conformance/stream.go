package conformance

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
)

var streams = []check{
	{"Read and WriteTo give the same", func(b *bed) {
		for _, data := range []string{"", "few", pattern(large)} {
			id := phalanx.ObjectID("size/" + string(rune('a'+len(data)%26)))
			b.put(id, data)
			b.holds(id, data)
			var out strings.Builder
			if n, err := b.open(b.ctx, id).WriteTo(&out); err != nil || n != int64(len(data)) || out.String() != data {
				b.Errorf("WriteTo of %d bytes: %d, %v", len(data), n, err)
			}
		}
	}},
	{"EOF again", func(b *bed) {
		b.put("a", "x")
		s := b.open(b.ctx, "a")
		b.rest(s)
		if n, err := s.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			b.Errorf("%d, %v", n, err)
		}
	}},
	{"the writer of the stream fails", func(b *bed) {
		b.put("a", "bytes")
		why := errors.New("the pipe broke")
		if _, err := b.open(b.ctx, "a").WriteTo(broken{why}); !errors.Is(err, why) {
			b.Errorf("%v", err)
		}
	}},
	{"while it is written", func(b *bed) { b.readsAlong(large) }},
	{"while it is written, of unknown size", func(b *bed) { b.readsAlong(phalanx.UnknownSize) }},
	{"two readers", func(b *bed) {
		data := pattern(large)
		w := b.begun(b.ctx, "a", large, data[:large/2])
		one, two := b.reading(b.open(b.ctx, "a")), b.reading(b.open(b.ctx, "a"))
		w.write(data[large/2:])
		w.close()
		for _, ch := range []<-chan part{one, two} {
			if p := returns(b, "a reader", ch); p.err != nil || p.data != data {
				b.Errorf("%d bytes, %v", len(p.data), p.err)
			}
		}
	}},
	{"the writer gives up", func(b *bed) {
		b.breaks(phalanx.ErrAborted, b.ctx, func(w *writer, _ httpapi.Stream) { w.abort(errors.New("it gives up")) })
		b.vanishes("a")
	}},
	{"deleted while it is written", func(b *bed) {
		b.breaks(phalanx.ErrDeleted, b.ctx, func(w *writer, _ httpapi.Stream) {
			if err := b.node.Delete(b.ctx, "a"); err != nil {
				b.Fatal(err)
			}
			b.failed(w.result().err, "put", "a", phalanx.ErrDeleted)
		})
		b.deleted("a")
	}},
	{"deleted before its first byte", func(b *bed) {
		w := b.begin(b.ctx, "a", large)
		for b.found("a") == phalanx.ErrNotFound {
		}
		if err := b.node.Delete(b.ctx, "a"); err != nil {
			b.Fatal(err)
		}
		b.failed(w.result().err, "put", "a", phalanx.ErrDeleted)
	}},
	{"the deadline passes", func(b *bed) {
		b.breaks(phalanx.ErrDeadline, nil, func(*writer, httpapi.Stream) {})
	}},
	{"the caller goes away", func(b *bed) {
		ctx, cancel := context.WithCancel(b.ctx)
		b.breaks(phalanx.ErrCanceled, ctx, func(*writer, httpapi.Stream) { cancel() })
	}},
	{"the context says why it has ended", func(b *bed) {
		ctx, cancel := context.WithCancelCause(b.ctx)
		b.breaks(phalanx.ErrLost, ctx, func(*writer, httpapi.Stream) {
			cancel(&phalanx.Error{Op: "other", Object: "other", Kind: phalanx.ErrLost, Err: errors.New("it is gone")})
		})
	}},
	{"closed while it waits", func(b *bed) {
		b.breaks(phalanx.ErrClosed, b.ctx, func(_ *writer, s httpapi.Stream) {
			if err := s.Close(); err != nil {
				b.Error(err)
			}
		})
	}},
	{"closed", func(b *bed) {
		b.put("a", "bytes")
		s := b.open(b.ctx, "a")
		for range 2 {
			if err := s.Close(); err != nil {
				b.Error(err)
			}
		}
		_, err := s.Read(make([]byte, 1))
		b.failed(err, "open", "a", phalanx.ErrClosed)
		_, err = s.WriteTo(io.Discard)
		b.failed(err, "open", "a", phalanx.ErrClosed)
	}},
}

// found returns the kind of the error with which id is looked for; 0: there is none.
func (b *bed) found(id phalanx.ObjectID) phalanx.Kind {
	b.Helper()
	_, err := b.node.Stat(b.ctx, id)
	var e *phalanx.Error
	if err != nil && !errors.As(err, &e) {
		b.Fatal(err)
	}
	if e == nil {
		return 0
	}
	return e.Kind
}

// part is what a reader gets.
type part struct {
	data string
	err  error
}

// reading reads s in another goroutine.
func (b *bed) reading(s io.Reader) <-chan part {
	ch := make(chan part, 1)
	go func() {
		data, err := io.ReadAll(s)
		ch <- part{string(data), err}
	}()
	return ch
}

// rest reads all that s still has.
func (b *bed) rest(s io.Reader) part {
	b.Helper()
	return returns(b, "the reader", b.reading(s))
}

// readsAlong checks that a reader gets the first bytes before the last ones are written.
func (b *bed) readsAlong(size int64) {
	b.Helper()
	data := pattern(large)
	w := b.begun(b.ctx, "a", size, data[:large/2])
	s := b.open(b.ctx, "a")
	if i := s.Info(); i.Meta.Size != size || !i.Digest.IsZero() {
		b.Errorf("before the end: %+v", i)
	}
	first := make([]byte, large/4)
	if err := b.ends("the first half", func() error { _, err := io.ReadFull(s, first); return err }); err != nil || string(first) != data[:large/4] {
		b.Fatalf("the first half: %v", err)
	}
	w.write(data[large/2:])
	o := w.close()
	if o.err != nil {
		b.Fatal(o.err)
	}
	if p := b.rest(s); p.err != nil || p.data != data[large/4:] {
		b.Errorf("the rest: %d bytes, %v", len(p.data), p.err)
	}
	if i := s.Info(); i.Digest != o.info.Digest || i.Meta.Size != large || i.Gen != o.info.Gen {
		b.Errorf("at the end: %+v, and the put has %+v", i, o.info)
	}
}

// breaks checks that a reader of "a", half of which is written, fails with kind after end. A
// ctx of nil is one that ends after a moment.
func (b *bed) breaks(kind phalanx.Kind, ctx context.Context, end func(*writer, httpapi.Stream)) {
	b.Helper()
	w := b.begun(b.ctx, "a", large, pattern(large/2))
	if ctx == nil {
		ctx = b.shortly()
	}
	s, err := b.node.Open(ctx, "a", false)
	if err != nil {
		if kind != phalanx.ErrDeadline {
			b.Fatal(err)
		}
		b.failed(err, "open", "a", kind) // on a slow machine
		return
	}
	defer s.Close()
	if _, err := io.ReadFull(s, make([]byte, large/4)); err != nil && kind != phalanx.ErrDeadline {
		b.Fatal(err)
	}
	result := b.reading(s)
	end(w, s)
	b.failed(returns(b, "the reader", result).err, "open", "a", kind)
}

// broken is a writer that fails.
type broken struct{ err error }

func (w broken) Write([]byte) (int, error) { return 0, w.err }
