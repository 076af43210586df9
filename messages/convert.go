package messages

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/phalanx-go/phalanx"
)

func fromGen(g phalanx.Generation) *Generation {
	if g.IsZero() {
		return nil
	}
	return &Generation{Epoch: g.Epoch, Seq: g.Seq}
}

func toGen(g *Generation) phalanx.Generation {
	return phalanx.Generation{Epoch: g.GetEpoch(), Seq: g.GetSeq()}
}

func fromMeta(m phalanx.Meta) *Meta {
	if m.Size == 0 && m.DType == phalanx.Bytes && m.Shape == nil {
		return nil
	}
	return &Meta{Size: m.Size, Dtype: DType(m.DType), Shape: m.Shape, Scalar: m.Shape != nil && len(m.Shape) == 0}
}

func fromDigest(d phalanx.Digest) []byte {
	if d.IsZero() {
		return nil
	}
	return slices.Clone(d[:])
}

// fromStrings shares nothing with ids.
func fromStrings[T ~string](ids []T) []string {
	if len(ids) == 0 {
		return nil
	}
	all := make([]string, len(ids))
	for i, id := range ids {
		all[i] = string(id)
	}
	return all
}

// maxText bounds texts for people, in bytes.
const maxText = 8 << 10

// fromText returns a text for people in a form that can always be sent: an error may
// quote anything, and must not get lost for it.
func fromText(s string) string {
	if len(s) > maxText {
		s = s[:maxText] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// fields decodes fields and remembers the first that is wrong, so that the decoder of a
// message asks once, at the end.
type fields struct{ err error }

func (f *fields) bad(name, format string, args ...any) {
	if f.err == nil {
		f.err = broken("%s: %w", name, fmt.Errorf(format, args...))
	}
}

// broken says that a peer does not keep to the schema.
func broken(format string, args ...any) error {
	return &phalanx.Error{Op: "decode", Kind: phalanx.ErrInternal, Err: fmt.Errorf(format, args...)}
}

// unsendable says that this node tried to send a value that the schema cannot express.
func unsendable(format string, args ...any) error {
	return &phalanx.Error{Op: "encode", Kind: phalanx.ErrInternal, Err: fmt.Errorf(format, args...)}
}

var errMissing = errors.New("it is missing")

func (f *fields) missing(name string) { f.bad(name, "%w", errMissing) }

func (f *fields) maybeObject(name, s string) phalanx.ObjectID {
	if len(s) > phalanx.MaxIDBytes {
		f.bad(name, "the object id has %d bytes, at most %d are allowed", len(s), phalanx.MaxIDBytes)
	}
	return phalanx.ObjectID(s)
}

func (f *fields) object(name, s string) phalanx.ObjectID {
	if s == "" {
		f.missing(name)
	}
	return f.maybeObject(name, s)
}

func (f *fields) maybeNode(name, s string) phalanx.NodeID {
	if len(s) > phalanx.MaxIDBytes {
		f.bad(name, "the node id has %d bytes, at most %d are allowed", len(s), phalanx.MaxIDBytes)
	}
	return phalanx.NodeID(s)
}

func (f *fields) node(name, s string) phalanx.NodeID {
	if s == "" {
		f.missing(name)
	}
	return f.maybeNode(name, s)
}

func (f *fields) objects(name string, ids []string) []phalanx.ObjectID {
	if len(ids) == 0 {
		return nil
	}
	all := make([]phalanx.ObjectID, len(ids))
	for i, id := range ids {
		all[i] = f.object(name, id)
	}
	return all
}

func (f *fields) nodes(name string, ids []string) []phalanx.NodeID {
	if len(ids) == 0 {
		return nil
	}
	all := make([]phalanx.NodeID, len(ids))
	for i, id := range ids {
		all[i] = f.node(name, id)
	}
	return all
}

// meta takes over m's shape.
func (f *fields) meta(name string, m *Meta) phalanx.Meta {
	if m == nil {
		return phalanx.Meta{}
	}
	switch {
	case m.Size < phalanx.UnknownSize:
		f.bad(name, "the size is %d", m.Size)
	case len(m.Shape) > phalanx.MaxDims:
		f.bad(name, "the shape has %d dimensions, at most %d are allowed", len(m.Shape), phalanx.MaxDims)
	case m.Scalar && len(m.Shape) > 0:
		f.bad(name, "a scalar has the shape %v", m.Shape)
	case slices.ContainsFunc(m.Shape, func(d int64) bool { return d < 0 }):
		f.bad(name, "the shape is %v", m.Shape)
	}
	shape := m.Shape
	if m.Scalar {
		shape = []int64{}
	}
	return phalanx.Meta{Size: m.Size, DType: enum(f, name, m.Dtype, phalanx.Uint64), Shape: shape}
}

func (f *fields) digest(name string, b []byte) (d phalanx.Digest) {
	if copy(d[:], b); len(b) != 0 && len(b) != len(d) {
		f.bad(name, "the digest has %d bytes instead of %d", len(b), len(d))
	}
	return d
}

func (f *fields) kind(name string, k Kind) phalanx.Kind { return enum(f, name, k, phalanx.ErrUnknown) }

// count decodes a number of things.
func (f *fields) count(name string, n int64) int {
	if n < 0 || int64(int(n)) != n {
		f.bad(name, "the number is %d", n)
		return 0
	}
	return int(n)
}

// index decodes a position.
func (f *fields) index(name string, n uint32) int { return f.count(name, int64(int32(n))) }

// enum decodes a value of an enumeration that has the values of T up to last.
func enum[T ~uint8, E ~int32](f *fields, name string, e E, last T) T {
	if e < 0 || e > E(last) {
		f.bad(name, "the value %d is not known", int32(e))
		return 0
	}
	return T(e)
}
