package conformance

import (
	"context"
	"errors"
	"slices"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
)

var clusters = []check{
	{"status", func(b *bed) {
		s := b.node.Status()
		if s.Node != b.node.ID() || s.Node == "" || s.View == 0 || s.Unready != nil || s.MajorityLost {
			b.Errorf("%+v", s)
		}
		if !slices.ContainsFunc(s.Members, func(m httpapi.Member) bool { return m.Node == s.Node }) || !slices.Contains(s.Voters, s.Node) {
			b.Errorf("members %+v, voters %q", s.Members, s.Voters)
		}
	}},
	{"unusable benchmarks", func(b *bed) {
		for _, r := range []httpapi.BenchRequest{{Op: "swim", Size: 4, Runs: 1}, {Op: "reduce", Size: 3, Runs: 1}, {Op: "reduce", Size: 4, Runs: 0}, {Op: "reduce", Size: 4, Runs: 1, Nodes: 99}} {
			_, err := b.node.Bench(b.ctx, r)
			b.kind(err, "bench", phalanx.ErrInvalid)
		}
	}},
	{"no barriers", func(b *bed) {
		if all, err := b.node.Barriers(b.ctx); err != nil || len(all) != 0 {
			b.Errorf("%+v, %v", all, err)
		}
	}},
	{"no groups", func(b *bed) {
		if all, err := b.node.Groups(b.ctx); err != nil || len(all) != 0 {
			b.Errorf("%+v, %v", all, err)
		}
	}},
	{"events end with the context", func(b *bed) {
		ctx, cancel := context.WithCancel(b.ctx)
		events := b.node.Events(ctx)
		cancel()
		if err := b.ends("the events", func() error {
			for range events {
			}
			return nil
		}); err != nil {
			b.Error(err)
		}
	}},
	{"tree of an absent object", func(b *bed) {
		_, err := b.node.Tree(b.ctx, "a")
		b.failed(err, "tree", "a", phalanx.ErrNotFound)
	}},
	{"tree of a deleted object", func(b *bed) {
		b.put("a", "bytes")
		b.deletes("a")
		_, err := b.node.Tree(b.ctx, "a")
		b.failed(err, "tree", "a", phalanx.ErrDeleted)
	}},
	{"tree", func(b *bed) {
		b.put("a", pattern(large))
		t, err := b.node.Tree(b.ctx, "a")
		if err != nil || t.Object != "a" || t.Kind != "broadcast" || t.State != "final" || t.Size != large || len(t.Edges) != 0 || len(t.Nodes) != 1 {
			b.Fatalf("%+v, %v", t, err)
		}
		if n := t.Nodes[0]; n.Node != b.node.ID() || !n.Complete || !n.Pinned || !n.Origin || n.Held != large {
			b.Errorf("%+v", n)
		}
	}},
	{"tree of a begun object", func(b *bed) {
		w := b.begun(b.ctx, "a", large, pattern(large/2))
		b.announced("a")
		t, err := b.node.Tree(b.ctx, "a")
		if err != nil || t.State != "begun" || t.Size != large || len(t.Nodes) != 1 || t.Nodes[0].Complete || !t.Nodes[0].Origin {
			b.Errorf("%+v, %v", t, err)
		}
		w.abort(errors.New("it gives up"))
	}},
}
