package conformance

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
	"github.com/phalanx-go/phalanx/storenode"
)

var reduces = []check{
	{"sum", func(b *bed) {
		b.putFloats("a", 1, 2, 3)
		b.putFloats("b", 10, 20, 30)
		r := storenode.Reduce{Target: "t", Sources: []phalanx.ObjectID{"a", "b"}, Op: phalanx.Sum}
		res := b.reduces(r, 11, 22, 33)
		if len(res.Out) != 0 {
			b.Errorf("out %q", res.Out)
		}
		if res.Meta.DType != phalanx.Float32 || !slices.Equal(res.Meta.Shape, []int64{3}) {
			b.Errorf("%+v", res.Meta)
		}
		if again := b.reduces(r, 11, 22, 33); again.Gen != res.Gen || again.Digest != res.Digest {
			b.Errorf("again %+v, first %+v", again, res)
		}
	}},
	{"allreduce", func(b *bed) {
		b.putFloats("a", 1, 2, 3)
		b.putFloats("b", 10, 20, 30)
		res, err := b.node.AllReduce(b.ctx, storenode.Reduce{Target: "t", Sources: []phalanx.ObjectID{"a", "b"}, Op: phalanx.Sum})
		if err != nil || res.Object != "t" || len(res.In) != 2 {
			b.Fatalf("%+v, %v", res, err)
		}
		b.holds("t", floats(11, 22, 33))
	}},
	{"one source", func(b *bed) {
		b.putFloats("a", 1, 2)
		b.reduces(storenode.Reduce{Target: "t", Sources: []phalanx.ObjectID{"a"}, Op: phalanx.Sum}, 1, 2)
	}},
	{"the first that are there", func(b *bed) {
		b.putFloats("b", 1, 2)
		b.putFloats("c", 10, 20)
		res := b.reduces(storenode.Reduce{Target: "t", Sources: []phalanx.ObjectID{"a", "b", "c"}, Op: phalanx.Sum, Num: 2}, 11, 22)
		in := slices.Sorted(slices.Values(res.In))
		if !slices.Equal(in, []phalanx.ObjectID{"b", "c"}) || !slices.Equal(res.Out, []phalanx.ObjectID{"a"}) {
			b.Errorf("in %q, out %q", res.In, res.Out)
		}
	}},
	{"a source comes later", func(b *bed) {
		b.putFloats("a", 1, 2)
		ctx := &watched{Context: b.ctx, seen: make(chan struct{})}
		done := make(chan error, 1)
		go func() {
			_, err := b.node.Reduce(ctx, storenode.Reduce{Target: "t", Sources: []phalanx.ObjectID{"a", "b"}, Op: phalanx.Sum})
			done <- err
		}()
		<-ctx.seen
		b.putFloats("b", 10, 20)
		if err := returns(b, "the reduce", done); err != nil {
			b.Fatal(err)
		}
		b.holds("t", floats(11, 22))
	}},
	{"a source does not come", func(b *bed) {
		b.putFloats("a", 1, 2)
		err := b.ends("the reduce", func() error {
			_, err := b.node.Reduce(b.shortly(), storenode.Reduce{Target: "t", Sources: []phalanx.ObjectID{"a", "b"}, Op: phalanx.Sum})
			return err
		})
		b.kind(err, "reduce", phalanx.ErrDeadline)
	}},
	{"a source was deleted", func(b *bed) {
		b.putFloats("a", 1, 2)
		b.putFloats("b", 1, 2)
		b.deletes("b")
		r := storenode.Reduce{Target: "t", Sources: []phalanx.ObjectID{"a", "b"}, Op: phalanx.Sum}
		_, err := b.node.Reduce(b.shortly(), r) // it waits, since the source can be put again
		b.kind(err, "reduce", phalanx.ErrDeadline)
		b.putFloats("b", 10, 20)
		b.reduces(r, 11, 22)
	}},
	{"the caller goes away", func(b *bed) {
		ctx, cancel := context.WithCancel(b.ctx)
		defer cancel()
		watched := &watched{Context: ctx, seen: make(chan struct{})}
		done := make(chan error, 1)
		go func() {
			_, err := b.node.Reduce(watched, storenode.Reduce{Target: "t", Sources: []phalanx.ObjectID{"a"}, Op: phalanx.Sum})
			done <- err
		}()
		<-watched.seen
		cancel()
		b.kind(returns(b, "the reduce", done), "reduce", phalanx.ErrCanceled)
	}},
	{"sizes differ", func(b *bed) {
		b.putFloats("a", 1, 2)
		b.putFloats("b", 10, 20, 30)
		b.refuses(phalanx.ErrMismatch, storenode.Reduce{Target: "t", Sources: []phalanx.ObjectID{"a", "b"}, Op: phalanx.Sum})
	}},
	{"types differ", func(b *bed) {
		b.putFloats("a", 1, 2)
		b.put("b", "8 bytes.")
		b.refuses(phalanx.ErrMismatch, storenode.Reduce{Target: "t", Sources: []phalanx.ObjectID{"a", "b"}, Op: phalanx.Sum})
	}},
	{"bytes have no sum", func(b *bed) {
		b.put("a", "8 bytes.")
		b.put("b", "8 bytes.")
		b.refuses(phalanx.ErrInvalid, storenode.Reduce{Target: "t", Sources: []phalanx.ObjectID{"a", "b"}, Op: phalanx.Sum})
	}},
	{"shapes differ", func(b *bed) {
		b.putFloats("a", 1, 2)
		if _, _, err := b.node.Put(b.ctx, "b", strings.NewReader(floats(1, 2)), phalanx.Meta{Size: 8, DType: phalanx.Float32, Shape: []int64{2, 1}}, httpapi.Putting{}); err != nil {
			b.Fatal(err)
		}
		b.refuses(phalanx.ErrMismatch, storenode.Reduce{Target: "t", Sources: []phalanx.ObjectID{"a", "b"}, Op: phalanx.Sum})
	}},
	{"unknown op", func(b *bed) {
		b.putFloats("a", 1, 2)
		b.refuses(phalanx.ErrUnknownOp, storenode.Reduce{Target: "t", Sources: []phalanx.ObjectID{"a"}, Op: "mean"})
		b.absent("t")
	}},
	{"unusable requests", func(b *bed) {
		b.putFloats("a", 1, 2)
		for _, r := range []storenode.Reduce{
			{Target: "t", Op: phalanx.Sum},
			{Target: "", Sources: []phalanx.ObjectID{"a"}, Op: phalanx.Sum},
			{Target: "t", Sources: []phalanx.ObjectID{"a", ""}, Op: phalanx.Sum},
			{Target: "t", Sources: []phalanx.ObjectID{"a", "a"}, Op: phalanx.Sum},
			{Target: "a", Sources: []phalanx.ObjectID{"a"}, Op: phalanx.Sum},
			{Target: "t", Sources: []phalanx.ObjectID{"a"}, Op: phalanx.Sum, Num: 2},
			{Target: "t", Sources: []phalanx.ObjectID{"a"}, Op: phalanx.Sum, Num: -1},
			{Target: "t", Sources: []phalanx.ObjectID{"a"}, Op: phalanx.Sum, Degree: -1},
		} {
			b.refuses(phalanx.ErrInvalid, r)
		}
	}},
	{"the target is put already", func(b *bed) {
		b.putFloats("a", 1, 2)
		b.putFloats("t", 5, 6)
		b.refuses(phalanx.ErrExists, storenode.Reduce{Target: "t", Sources: []phalanx.ObjectID{"a"}, Op: phalanx.Sum})
		b.holds("t", floats(5, 6))
	}},
	{"the target is another reduce", func(b *bed) {
		b.putFloats("a", 1, 2)
		b.putFloats("b", 3, 4)
		b.reduces(storenode.Reduce{Target: "t", Sources: []phalanx.ObjectID{"a"}, Op: phalanx.Sum}, 1, 2)
		b.refuses(phalanx.ErrExists, storenode.Reduce{Target: "t", Sources: []phalanx.ObjectID{"b"}, Op: phalanx.Sum})
		b.holds("t", floats(1, 2))
	}},
	{"a put of the target", func(b *bed) {
		b.putFloats("a", 1, 2)
		b.reduces(storenode.Reduce{Target: "t", Sources: []phalanx.ObjectID{"a"}, Op: phalanx.Sum}, 1, 2)
		b.failed(b.try("t", "8 bytes.").err, "put", "t", phalanx.ErrExists)
	}},
}

// floats returns the bytes of an array.
func floats(values ...float32) string {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return string(b)
}

func (b *bed) putFloats(id phalanx.ObjectID, values ...float32) storenode.Info {
	b.Helper()
	info, _, err := b.node.Put(b.ctx, id, strings.NewReader(floats(values...)), phalanx.Meta{Size: int64(4 * len(values)), DType: phalanx.Float32, Shape: []int64{int64(len(values))}}, httpapi.Putting{})
	if err != nil {
		b.Fatal(err)
	}
	return info
}

// reduces checks that r makes an array of the values want.
func (b *bed) reduces(r storenode.Reduce, want ...float32) storenode.ReduceResult {
	b.Helper()
	res, err := b.node.Reduce(b.ctx, r)
	if err != nil {
		b.Fatal(err)
	}
	if res.Object != r.Target || res.Meta.Size != int64(4*len(want)) || res.Digest.IsZero() || res.Gen.IsZero() {
		b.Errorf("%+v", res)
	}
	b.holds(r.Target, floats(want...))
	return res
}

// refuses checks that both kinds of reduce fail with kind.
func (b *bed) refuses(kind phalanx.Kind, r storenode.Reduce) {
	b.Helper()
	_, err := b.node.Reduce(b.ctx, r)
	b.kind(err, "reduce", kind)
	_, err = b.node.AllReduce(b.ctx, r)
	b.kind(err, "allreduce", kind)
}
