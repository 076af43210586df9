package conformance

import (
	"errors"
	"strings"

	"github.com/phalanx-go/phalanx"
)

// arguments has ids that no object can have.
var arguments = []check{
	{"empty id", func(b *bed) { b.invalid("") }},
	{"long id", func(b *bed) { b.invalid(phalanx.ObjectID(strings.Repeat("x", phalanx.MaxIDBytes+1))) }},
	{"id of other bytes than UTF-8", func(b *bed) { b.invalid("a\xff") }},
	{"unprintable id", func(b *bed) { b.invalid("a\nb") }},
	{"longest id", func(b *bed) { b.puts(phalanx.ObjectID(strings.Repeat("x", phalanx.MaxIDBytes)), "bytes", 5) }},
}

// invalid checks that every call refuses id.
func (b *bed) invalid(id phalanx.ObjectID) {
	b.Helper()
	b.kind(b.try(id, "bytes").err, "put", phalanx.ErrInvalid)
	for _, wait := range []bool{false, true} {
		_, err := b.node.Open(b.ctx, id, wait)
		b.kind(err, "open", phalanx.ErrInvalid)
	}
	b.kind(b.node.Delete(b.ctx, id), "delete", phalanx.ErrInvalid)
	_, err := b.node.Stat(b.ctx, id)
	b.kind(err, "stat", phalanx.ErrInvalid)
	_, err = b.node.Tree(b.ctx, id)
	b.kind(err, "tree", phalanx.ErrInvalid)
	b.kind(b.node.Prefetch(b.ctx, id), "prefetch", phalanx.ErrInvalid)
}

// kind checks that err is a *phalanx.Error of kind, of the call op. The object of such an
// error may be a printable form of the id, or one of several.
func (b *bed) kind(err error, op string, kind phalanx.Kind) {
	b.Helper()
	var e *phalanx.Error
	if !errors.As(err, &e) || e.Kind != kind || e.Op != op {
		b.Errorf("%s: %v, want kind %q", op, err, kind)
	}
}
