package conformance

import (
	"io"

	"github.com/phalanx-go/phalanx"
)

var deletes = []check{
	{"present", func(b *bed) {
		b.put("a", "bytes")
		b.put("b", "bytes")
		b.deletes("a")
		b.deleted("a")
		b.holds("b", "bytes")
	}},
	{"absent", func(b *bed) {
		b.deletes("a")
		b.absent("a")
		_, err := b.node.Stat(b.ctx, "a")
		b.failed(err, "stat", "a", phalanx.ErrNotFound)
	}},
	{"twice", func(b *bed) {
		b.put("a", "bytes")
		b.deletes("a")
		b.deletes("a")
		b.deleted("a")
	}},
	{"put again", func(b *bed) {
		for _, data := range []string{"new", "old", pattern(large)} {
			first := b.put("a", "old")
			b.deletes("a")
			second := b.put("a", data)
			if !first.Gen.Less(second.Gen) {
				b.Errorf("generation %v after %v", second.Gen, first.Gen)
			}
			b.holds("a", data)
			if st, err := b.node.Stat(b.ctx, "a"); err != nil || st.Gen != second.Gen {
				b.Errorf("%+v, %v", st, err)
			}
			b.deletes("a")
		}
	}},
	{"while somebody reads few bytes", func(b *bed) { b.deletesRead("bytes") }},
	{"while somebody reads many bytes", func(b *bed) { b.deletesRead(pattern(large)) }},
}

// deletes deletes id, which must succeed.
func (b *bed) deletes(id phalanx.ObjectID) {
	b.Helper()
	if err := b.node.Delete(b.ctx, id); err != nil {
		b.Fatal(err)
	}
}

// deleted checks that readers hear that id was deleted.
func (b *bed) deleted(id phalanx.ObjectID) {
	b.Helper()
	for _, wait := range []bool{false, true} {
		_, err := b.node.Open(b.ctx, id, wait) // it does not wait for a later put
		b.failed(err, "open", id, phalanx.ErrDeleted)
	}
	_, err := b.node.Stat(b.ctx, id)
	b.failed(err, "stat", id, phalanx.ErrDeleted)
}

// deletesRead checks the error of a stream that has read a part of an object that is deleted.
func (b *bed) deletesRead(data string) {
	b.Helper()
	b.put("a", data)
	s := b.open(b.ctx, "a")
	if _, err := io.ReadFull(s, make([]byte, 1)); err != nil {
		b.Fatal(err)
	}
	b.deletes("a")
	b.failed(b.rest(s).err, "open", "a", phalanx.ErrDeleted)
}
