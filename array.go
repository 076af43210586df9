package phalanx

import (
	"fmt"
	"math"
	"slices"
)

// DType is the type of an array's elements.
type DType uint8

// The element types. Bytes is an object without one.
const (
	Bytes DType = iota
	Float16
	BFloat16
	Float32
	Float64
	Int8
	Int16
	Int32
	Int64
	Uint8
	Uint16
	Uint32
	Uint64
)

var dtypes = [...]struct {
	name string
	size int64
}{
	{"bytes", 1}, {"float16", 2}, {"bfloat16", 2}, {"float32", 4}, {"float64", 8},
	{"int8", 1}, {"int16", 2}, {"int32", 4}, {"int64", 8},
	{"uint8", 1}, {"uint16", 2}, {"uint32", 4}, {"uint64", 8},
}

// Valid reports whether d is one of the element types above.
func (d DType) Valid() bool { return int(d) < len(dtypes) }

// Size returns the size of an element in bytes.
func (d DType) Size() int64 { return dtypes[d].size }

// IsFloat reports whether d is a floating-point type.
func (d DType) IsFloat() bool { return d >= Float16 && d <= Float64 }

// String returns the name that ParseDType takes.
func (d DType) String() string {
	if !d.Valid() {
		return fmt.Sprintf("dtype(%d)", uint8(d))
	}
	return dtypes[d].name
}

// ParseDType returns the element type called s.
func ParseDType(s string) (DType, error) {
	for d, t := range dtypes {
		if t.name == s {
			return DType(d), nil
		}
	}
	return 0, &Error{Kind: ErrInvalid, Err: fmt.Errorf("there is no dtype %q", s)}
}

// Op names what a reduce does with two elements: one of those below, or one
// that an application registered on every node.
type Op string

// The built-in ops. And, Or and Xor are for integers only. Integers wrap; NaN
// wins in Min and Max.
const (
	Sum  Op = "sum"
	Prod Op = "prod"
	Min  Op = "min"
	Max  Op = "max"
	And  Op = "and"
	Or   Op = "or"
	Xor  Op = "xor"
)

// Builtin reports whether op is one of the ops above.
func (op Op) Builtin() bool {
	return slices.Contains([]Op{Sum, Prod, Min, Max, And, Or, Xor}, op)
}

// Supports reports whether the built-in op is defined on elements of type d.
func (op Op) Supports(d DType) bool {
	switch op {
	case And, Or, Xor:
		return d.Valid() && !d.IsFloat() && d != Bytes
	}
	return op.Builtin() && d.Valid() && d != Bytes
}

// UnknownSize is the Size of an object whose length its creator does not know yet.
const UnknownSize = int64(-1)

// MaxDims is the largest number of dimensions of an array.
const MaxDims = 32

// Meta describes an object. Shape is nil unless it is an array; the caller
// keeps the slice and must not change it.
type Meta struct {
	Size  int64 // bytes, or UnknownSize
	DType DType
	Shape []int64 // elements per dimension
}

// Equal reports whether m and n describe the same array of the same size.
func (m Meta) Equal(n Meta) bool {
	return m.Size == n.Size && m.DType == n.DType && slices.Equal(m.Shape, n.Shape)
}

// Validate returns an ErrInvalid that says what is wrong with m, or nil.
func (m Meta) Validate() error {
	bad := func(format string, args ...any) error {
		return &Error{Kind: ErrInvalid, Err: fmt.Errorf(format, args...)}
	}
	switch {
	case !m.DType.Valid():
		return bad("there is no %v", m.DType)
	case m.Size < UnknownSize:
		return bad("the size is %d", m.Size)
	case m.Size > 0 && m.Size%m.DType.Size() != 0:
		return bad("%d bytes are no multiple of a %v's %d", m.Size, m.DType, m.DType.Size())
	case len(m.Shape) > MaxDims:
		return bad("the shape has %d dimensions, at most %d are allowed", len(m.Shape), MaxDims)
	}
	if m.Shape == nil || m.Size == UnknownSize {
		return nil
	}
	n := int64(1)
	for _, d := range m.Shape {
		if d < 0 || (d > 0 && n > math.MaxInt64/d) {
			return bad("the shape %v is out of range", m.Shape)
		}
		n *= d
	}
	if n != m.Size/m.DType.Size() {
		return bad("the shape %v has %d elements, the object has %d", m.Shape, n, m.Size/m.DType.Size())
	}
	return nil
}
