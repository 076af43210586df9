package conformance

import (
	"context"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
	"github.com/phalanx-go/phalanx/storenode"
)

var contexts = []check{
	{"passed before the call", func(b *bed) {
		ctx, cancel := context.WithDeadline(b.ctx, time.Unix(1, 0))
		defer cancel()
		b.over(ctx, phalanx.ErrDeadline)
	}},
	{"canceled before the call", func(b *bed) {
		ctx, cancel := context.WithCancel(b.ctx)
		cancel()
		b.over(ctx, phalanx.ErrCanceled)
	}},
}

// over checks that no call does anything once ctx has ended.
func (b *bed) over(ctx context.Context, kind phalanx.Kind) {
	b.Helper()
	b.put("a", "bytes")
	_, _, err := b.node.Put(ctx, "new", none{}, phalanx.Meta{Size: 5}, httpapi.Putting{})
	b.failed(err, "put", "new", kind)
	b.absent("new")
	for _, wait := range []bool{false, true} {
		_, err = b.node.Open(ctx, "a", wait)
		b.failed(err, "open", "a", kind)
	}
	_, err = b.node.Stat(ctx, "a")
	b.failed(err, "stat", "a", kind)
	_, err = b.node.Tree(ctx, "a")
	b.failed(err, "tree", "a", kind)
	_, err = b.node.List(ctx, "")
	b.failed(err, "list", "", kind)
	b.failed(b.node.Prefetch(ctx, "a"), "prefetch", "a", kind)
	_, err = b.node.Reduce(ctx, storenode.Reduce{Target: "t", Sources: []phalanx.ObjectID{"a"}, Op: phalanx.Sum})
	b.kind(err, "reduce", kind)
	_, _, err = b.node.Gather(ctx, []phalanx.ObjectID{"new"}, 0)
	b.kind(err, "gather", kind)
	_, err = b.node.WorkflowResult(ctx, "a")
	b.failed(err, "result", "a", kind)
	b.failed(b.node.Delete(ctx, "a"), "delete", "a", kind)
	b.holds("a", "bytes")
}
