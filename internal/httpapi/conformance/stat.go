package conformance

import (
	"errors"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

var stats = []check{
	{"absent", func(b *bed) {
		_, err := b.node.Stat(b.ctx, "a")
		b.failed(err, "stat", "a", phalanx.ErrNotFound)
	}},
	{"final", func(b *bed) {
		for id, data := range map[phalanx.ObjectID]string{"empty": "", "few": "bytes", "many": pattern(large)} {
			info := b.put(id, data)
			st, err := b.node.Stat(b.ctx, id)
			if err != nil {
				b.Fatal(err)
			}
			if st.Object != id || st.State != directory.Finished || st.Gen != info.Gen || st.Digest != info.Digest || st.Meta.Size != int64(len(data)) || st.Origin != b.node.ID() {
				b.Errorf("%+v, put as %+v", st, info)
			}
			if st.Inline != (len(data) < 64<<10) {
				b.Errorf("%d bytes: inline %t", len(data), st.Inline)
			}
			// An inline object has no origin among its holders: the directory has the bytes.
			if len(st.Holders) != 1 || st.Holders[0] != (directory.HolderStat{Node: b.node.ID(), Complete: true, Pinned: true, Origin: !st.Inline}) {
				b.Errorf("%s: holders %+v", id, st.Holders)
			}
		}
	}},
	{"begun", func(b *bed) {
		w := b.begun(b.ctx, "a", large, pattern(large/2))
		st := b.announced("a")
		if st.State != directory.Begun || st.Meta.Size != large || !st.Digest.IsZero() || st.Gen.IsZero() || st.Origin != b.node.ID() {
			b.Errorf("%+v", st)
		}
		if len(st.Holders) != 1 || st.Holders[0].Complete || !st.Holders[0].Origin {
			b.Errorf("holders %+v", st.Holders)
		}
		w.abort(errors.New("it gives up"))
		b.vanishes("a")
		_, err := b.node.Stat(b.ctx, "a")
		b.failed(err, "stat", "a", phalanx.ErrNotFound)
	}},
	{"deleted", func(b *bed) {
		b.put("a", "bytes")
		b.deletes("a")
		_, err := b.node.Stat(b.ctx, "a")
		b.failed(err, "stat", "a", phalanx.ErrDeleted)
	}},
}
