package conformance

import "github.com/phalanx-go/phalanx"

var prefetches = []check{
	{"present", func(b *bed) {
		b.put("a", "bytes")
		if err := b.node.Prefetch(b.ctx, "a", b.node.ID()); err != nil {
			b.Error(err)
		}
	}},
	{"comes later", func(b *bed) {
		ctx := &watched{Context: b.ctx, seen: make(chan struct{})}
		done := make(chan error, 1)
		go func() { done <- b.node.Prefetch(ctx, "a", b.node.ID()) }()
		<-ctx.seen
		b.put("a", "bytes")
		if err := returns(b, "the prefetch", done); err != nil {
			b.Error(err)
		}
	}},
	{"to no member", func(b *bed) {
		b.put("a", "bytes")
		b.failed(b.node.Prefetch(b.ctx, "a", "n9#9"), "prefetch", "a", phalanx.ErrInvalid)
	}},
	{"deleted", func(b *bed) {
		b.put("a", "bytes")
		b.deletes("a")
		b.failed(b.node.Prefetch(b.ctx, "a", b.node.ID()), "prefetch", "a", phalanx.ErrDeleted)
	}},
	{"does not come", func(b *bed) {
		b.failed(b.ends("the prefetch", func() error { return b.node.Prefetch(b.shortly(), "a", b.node.ID()) }), "prefetch", "a", phalanx.ErrDeadline)
	}},
}
