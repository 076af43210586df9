package conformance

import (
	"errors"
	"strings"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
)

var rebinds = []check{
	{"same bytes", func(b *bed) { b.putsAgain("the same bytes") }},
	{"same large bytes", func(b *bed) { b.putsAgain(pattern(large)) }},
	{"same bytes of unknown size", func(b *bed) {
		first := b.put("a", "bytes")
		info, existed, err := b.node.Put(b.ctx, "a", strings.NewReader("bytes"), phalanx.Meta{Size: phalanx.UnknownSize}, httpapi.Putting{})
		if err != nil || !existed || info.Gen != first.Gen {
			b.Errorf("existed %t, %+v, %v", existed, info, err)
		}
	}},
	{"other bytes", func(b *bed) {
		b.put("a", "one")
		b.failed(b.try("a", "two").err, "put", "a", phalanx.ErrExists)
		b.holds("a", "one")
	}},
	{"other size", func(b *bed) {
		b.put("a", "one")
		b.failed(b.try("a", "three").err, "put", "a", phalanx.ErrExists)
		b.failed(b.try("a", "").err, "put", "a", phalanx.ErrExists)
		b.holds("a", "one")
	}},
	{"same bytes of another type", func(b *bed) {
		b.put("a", "four")
		_, _, err := b.node.Put(b.ctx, "a", strings.NewReader("four"), phalanx.Meta{Size: 4, DType: phalanx.Float32}, httpapi.Putting{})
		b.failed(err, "put", "a", phalanx.ErrExists)
	}},
	{"same bytes while it is written", func(b *bed) {
		data := pattern(large)
		w := b.begun(b.ctx, "a", large, data[:large/2])
		second := make(chan outcome, 1)
		go func() { second <- b.try("a", data) }()
		w.write(data[large/2:])
		if o := w.close(); o.err != nil || o.existed {
			b.Errorf("the first: existed %t, %v", o.existed, o.err)
		}
		if o := returns(b, "the second put", second); o.err != nil || !o.existed {
			b.Errorf("the second: existed %t, %v", o.existed, o.err)
		}
		b.holds("a", data)
	}},
	{"other bytes while it is written", func(b *bed) {
		data := pattern(large)
		w := b.begun(b.ctx, "a", large, data[:large/2])
		second := make(chan outcome, 1)
		go func() { second <- b.try("a", strings.Repeat("x", large)) }()
		w.write(data[large/2:])
		if o := w.close(); o.err != nil {
			b.Errorf("the first: %v", o.err)
		}
		b.failed(returns(b, "the second put", second).err, "put", "a", phalanx.ErrExists)
		b.holds("a", data)
	}},
	{"the first writer gives up", func(b *bed) {
		data := pattern(large)
		w := b.begun(b.ctx, "a", large, data[:large/2])
		second := b.begin(b.ctx, "a", large)
		second.write(data)
		w.abort(errors.New("it gives up"))
		if o := second.close(); o.err != nil {
			b.Fatalf("the second: %v", o.err)
		}
		b.holds("a", data)
	}},
	{"a second put whose deadline passes", func(b *bed) {
		data := pattern(large)
		w := b.begun(b.ctx, "a", large, data[:large/2])
		second := b.begin(b.shortly(), "a", large)
		b.failed(second.result().err, "put", "a", phalanx.ErrDeadline)
		w.write(data[large/2:])
		if o := w.close(); o.err != nil {
			b.Errorf("the first: %v", o.err)
		}
	}},
}

func (b *bed) putsAgain(data string) {
	b.Helper()
	first := b.put("a", data)
	again := b.try("a", data)
	if again.err != nil || !again.existed {
		b.Fatalf("existed %t, %v", again.existed, again.err)
	}
	if again.info.Gen != first.Gen || again.info.Digest != first.Digest || again.info.Meta.Size != first.Meta.Size {
		b.Errorf("%+v, and first %+v", again.info, first)
	}
}
