package conformance

import (
	"fmt"
	"slices"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// several is more objects than one answer of a directory shard lists.
const several = 620

var lists = []check{
	{"none", func(b *bed) { b.lists("", nil) }},
	{"prefix", func(b *bed) {
		for _, id := range []phalanx.ObjectID{"b/2", "a", "b/10", "b", "c", "b/é", "B/1"} {
			b.put(id, "bytes")
		}
		b.lists("", []phalanx.ObjectID{"B/1", "a", "b", "b/10", "b/2", "b/é", "c"})
		b.lists("b/", []phalanx.ObjectID{"b/10", "b/2", "b/é"})
		b.lists("b/2", []phalanx.ObjectID{"b/2"})
		b.lists("d", nil)
	}},
	{"many", func(b *bed) {
		var want []phalanx.ObjectID
		for i := range several {
			id := phalanx.ObjectID(fmt.Sprintf("a/%04d", several-1-i))
			b.put(id, "bytes")
			want = append(want, id)
		}
		slices.Reverse(want)
		b.lists("a/", want)
	}},
	{"state", func(b *bed) {
		info := b.put("a", "bytes")
		b.begun(b.ctx, "b", large, pattern(large/2))
		all := b.lists("", []phalanx.ObjectID{"a", "b"})
		if a := all[0]; a.State != directory.Finished || a.Gen != info.Gen || a.Digest != info.Digest || a.Meta.Size != 5 || len(a.Holders) != 0 || a.Origin != b.node.ID() || !a.Inline {
			b.Errorf("%+v", a)
		}
		if o := all[1]; o.State != directory.Begun || o.Meta.Size != large || !o.Digest.IsZero() || o.Inline {
			b.Errorf("%+v", o)
		}
	}},
	{"deleted", func(b *bed) {
		b.put("a", "bytes")
		b.put("b", "bytes")
		b.deletes("a")
		b.lists("", []phalanx.ObjectID{"b"})
	}},
	{"bad prefix", func(b *bed) {
		_, err := b.node.List(b.ctx, "a\x00")
		b.kind(err, "list", phalanx.ErrInvalid)
	}},
}

// lists checks which ids begin with prefix.
func (b *bed) lists(prefix string, want []phalanx.ObjectID) []directory.ObjectStat {
	b.Helper()
	all, err := b.node.List(b.ctx, prefix)
	if err != nil {
		b.Fatal(err)
	}
	var got []phalanx.ObjectID
	for _, st := range all {
		got = append(got, st.Object)
	}
	if !slices.Equal(got, want) {
		b.Fatalf("%q lists %d objects %.20q, want %d %.20q", prefix, len(got), got, len(want), want)
	}
	return all
}
