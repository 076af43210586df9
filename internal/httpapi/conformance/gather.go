package conformance

import (
	"slices"

	"github.com/phalanx-go/phalanx"
)

var gathers = []check{
	{"all", func(b *bed) {
		first, second := b.put("a", "one"), b.put("b", pattern(large))
		in, out, err := b.node.Gather(b.ctx, []phalanx.ObjectID{"a", "b"}, 0)
		if err != nil || len(in) != 2 || len(out) != 0 {
			b.Fatalf("%+v, %q, %v", in, out, err)
		}
		for _, i := range in {
			want := first
			if i.Object == "b" {
				want = second
			}
			if i.Object != want.Object || i.Gen != want.Gen || i.Digest != want.Digest || i.Meta.Size != want.Meta.Size {
				b.Errorf("%+v, put as %+v", i, want)
			}
		}
	}},
	{"the first that are there", func(b *bed) {
		b.put("b", "two")
		in, out, err := b.node.Gather(b.ctx, []phalanx.ObjectID{"a", "b", "c"}, 1)
		if err != nil || len(in) != 1 || in[0].Object != "b" || !slices.Equal(out, []phalanx.ObjectID{"a", "c"}) {
			b.Errorf("%+v, %q, %v", in, out, err)
		}
	}},
	{"a source comes later", func(b *bed) {
		b.put("a", "one")
		ctx := &watched{Context: b.ctx, seen: make(chan struct{})}
		done := make(chan error, 1)
		go func() {
			in, out, err := b.node.Gather(ctx, []phalanx.ObjectID{"b", "a"}, 0)
			if err == nil && (len(in) != 2 || len(out) != 0) { // "b" may have come before the gather had seen "a"
				b.Errorf("%+v, %q", in, out)
			}
			done <- err
		}()
		<-ctx.seen
		b.put("b", "two")
		if err := returns(b, "the gather", done); err != nil {
			b.Error(err)
		}
	}},
	{"a source does not come", func(b *bed) {
		b.put("a", "one")
		err := b.ends("the gather", func() error {
			_, _, err := b.node.Gather(b.shortly(), []phalanx.ObjectID{"a", "b"}, 0)
			return err
		})
		b.failed(err, "gather", "b", phalanx.ErrDeadline)
	}},
	{"a source was deleted", func(b *bed) {
		b.put("a", "one")
		b.deletes("a")
		_, _, err := b.node.Gather(b.ctx, []phalanx.ObjectID{"a"}, 0)
		b.failed(err, "gather", "a", phalanx.ErrDeleted)
	}},
	{"unusable requests", func(b *bed) {
		b.put("a", "one")
		for _, sources := range [][]phalanx.ObjectID{nil, {"a", "a"}, {"a", ""}} {
			_, _, err := b.node.Gather(b.ctx, sources, 0)
			b.kind(err, "gather", phalanx.ErrInvalid)
		}
		for _, num := range []int{-1, 2} {
			_, _, err := b.node.Gather(b.ctx, []phalanx.ObjectID{"a"}, num)
			b.kind(err, "gather", phalanx.ErrInvalid)
		}
	}},
}
