package conformance

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
)

var puts = []check{
	{"known size", func(b *bed) { b.puts("a/1", "seven b", 7) }},
	{"unknown size", func(b *bed) { b.puts("a/1", "seven b", phalanx.UnknownSize) }},
	{"empty", func(b *bed) { b.puts("a/1", "", 0) }},
	{"empty of unknown size", func(b *bed) { b.puts("a/1", "", phalanx.UnknownSize) }},
	{"large", func(b *bed) { b.puts("a/1", pattern(large), large) }},
	{"large of unknown size", func(b *bed) { b.puts("a/1", pattern(large+1), phalanx.UnknownSize) }},
	{"array", putArray},
	{"array of another size", putWrongArray},
	{"same bytes have the same digest", putDigests},
	{"the reader fails", func(b *bed) {
		w := b.begin(b.ctx, "a", 100)
		w.write("some bytes")
		b.failed(w.abort(errors.New("the disk is gone")).err, "put", "a", phalanx.ErrAborted)
		b.vanishes("a")
		b.put("a", "again")
		b.holds("a", "again")
	}},
	{"the reader ends early", func(b *bed) {
		w := b.begin(b.ctx, "a", 100)
		w.write("some bytes")
		b.failed(w.close().err, "put", "a", phalanx.ErrAborted)
		b.vanishes("a")
	}},
	{"the reader has more bytes", func(b *bed) {
		_, _, err := b.node.Put(b.ctx, "a", strings.NewReader("seven b and more"), phalanx.Meta{Size: 7}, httpapi.Putting{})
		b.failed(err, "put", "a", phalanx.ErrInvalid)
		b.vanishes("a")
	}},
	{"the deadline passes while it waits for bytes", func(b *bed) {
		w := b.begin(b.shortly(), "a", 100)
		b.failed(w.result().err, "put", "a", phalanx.ErrDeadline)
		b.vanishes("a")
	}},
	{"the caller goes away while it is written", func(b *bed) {
		ctx, cancel := context.WithCancel(b.ctx)
		defer cancel()
		w := b.begin(ctx, "a", 100)
		w.write("some bytes")
		cancel()
		b.failed(w.result().err, "put", "a", phalanx.ErrCanceled)
		b.vanishes("a")
	}},
	{"more copies than members", func(b *bed) {
		_, _, err := b.node.Put(b.ctx, "a", strings.NewReader("a"), phalanx.Meta{Size: 1}, httpapi.Putting{Copies: len(b.node.Status().Members) + 1})
		b.failed(err, "put", "a", phalanx.ErrUnavailable)
		b.absent("a")
	}},
}

// puts checks that data becomes the object id, whose reader is told of size.
func (b *bed) puts(id phalanx.ObjectID, data string, size int64) {
	b.Helper()
	info, existed, err := b.node.Put(b.ctx, id, strings.NewReader(data), phalanx.Meta{Size: size}, httpapi.Putting{})
	if err != nil {
		b.Fatal(err)
	}
	if existed || info.Object != id || info.Meta.Size != int64(len(data)) || info.Gen.IsZero() || info.Digest.IsZero() {
		b.Errorf("existed %t, %+v", existed, info)
	}
	b.holds(id, data)
	s := b.open(b.ctx, id)
	if got := s.Info(); got.Object != id || got.Gen != info.Gen || got.Digest != info.Digest || got.Meta.Size != info.Meta.Size {
		b.Errorf("a stream has %+v, the put %+v", got, info)
	}
}

func putArray(b *bed) {
	meta := phalanx.Meta{Size: 24, DType: phalanx.Float32, Shape: []int64{2, 3}}
	info, _, err := b.node.Put(b.ctx, "a", strings.NewReader(pattern(24)), meta, httpapi.Putting{})
	if err != nil {
		b.Fatal(err)
	}
	st, err := b.node.Stat(b.ctx, "a")
	if err != nil {
		b.Fatal(err)
	}
	for what, got := range map[string]phalanx.Meta{"put": info.Meta, "stat": st.Meta, "stream": b.open(b.ctx, "a").Info().Meta} {
		if got.Size != 24 || got.DType != phalanx.Float32 || !slices.Equal(got.Shape, meta.Shape) {
			b.Errorf("%s: %+v", what, got)
		}
	}
}

func putWrongArray(b *bed) {
	for _, size := range []int64{23, phalanx.UnknownSize} {
		meta := phalanx.Meta{Size: size, DType: phalanx.Float32, Shape: []int64{2, 3}}
		_, _, err := b.node.Put(b.ctx, "a", strings.NewReader(pattern(23)), meta, httpapi.Putting{})
		b.failed(err, "put", "a", phalanx.ErrInvalid)
		b.vanishes("a")
	}
}

func putDigests(b *bed) {
	one, two, other := b.put("one", "bytes"), b.put("two", "bytes"), b.put("other", "other")
	if one.Digest != two.Digest || one.Digest == other.Digest {
		b.Errorf("%v, %v, other bytes %v", one.Digest, two.Digest, other.Digest)
	}
}
