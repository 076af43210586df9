package conformance

import (
	"io"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
)

// none is an endless reader of zero bytes.
type none struct{}

func (none) Read(p []byte) (int, error) { clear(p); return len(p), nil }

var memories = []check{
	{"cap", func(b *bed) {
		if got := b.node.Status().Memory.Cap; got != Memory {
			b.Errorf("the cap is %d", got)
		}
	}},
	{"a larger object", func(b *bed) {
		_, _, err := b.node.Put(b.ctx, "a", none{}, phalanx.Meta{Size: Memory + 1}, httpapi.Putting{})
		b.failed(err, "put", "a", phalanx.ErrNoSpace)
		b.absent("a")
	}},
	{"a larger object of unknown size", func(b *bed) {
		_, _, err := b.node.Put(b.ctx, "a", io.LimitReader(none{}, Memory+1), phalanx.Meta{Size: phalanx.UnknownSize}, httpapi.Putting{})
		b.failed(err, "put", "a", phalanx.ErrNoSpace)
		b.vanishes("a")
	}},
	{"full of pinned objects", func(b *bed) {
		const most = Memory * 3 / 4
		first, _, err := b.node.Put(b.ctx, "a", io.LimitReader(none{}, most), phalanx.Meta{Size: most}, httpapi.Putting{})
		if err != nil || first.Meta.Size != most {
			b.Fatalf("%+v, %v", first, err)
		}
		_, _, err = b.node.Put(b.ctx, "b", none{}, phalanx.Meta{Size: most}, httpapi.Putting{})
		b.failed(err, "put", "b", phalanx.ErrNoSpace)
		b.absent("b")
		b.deletes("a")
		if _, _, err := b.node.Put(b.ctx, "b", io.LimitReader(none{}, most), phalanx.Meta{Size: most}, httpapi.Putting{MemoryWait: patience}); err != nil { // the bytes are freed soon
			b.Error(err)
		}
	}},
}
