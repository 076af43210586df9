package cluster

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/storenode"
)

// Element is a Go type that is the element of an array.
type Element interface {
	float32 | float64 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// DTypeOf returns the element type that T is stored as.
func DTypeOf[T Element]() phalanx.DType {
	switch any(*new(T)).(type) {
	case float32:
		return phalanx.Float32
	case float64:
		return phalanx.Float64
	case int8:
		return phalanx.Int8
	case int16:
		return phalanx.Int16
	case int32:
		return phalanx.Int32
	case int64:
		return phalanx.Int64
	case uint8:
		return phalanx.Uint8
	case uint16:
		return phalanx.Uint16
	case uint32:
		return phalanx.Uint32
	}
	return phalanx.Uint64
}

// PutArray puts values, which it copies, as an array; without a shape it has
// one dimension. Arrays are stored in the byte order of the machine, which is
// the same on all nodes of a cluster.
func PutArray[T Element](ctx context.Context, n *Node, id phalanx.ObjectID, values []T, shape ...int64) (storenode.Info, error) {
	if len(shape) == 0 {
		shape = []int64{int64(len(values))}
	}
	return n.Put(ctx, id, BytesOf(values), WithArray(DTypeOf[T](), shape...))
}

// BytesOf returns the memory of values, for a storenode.Put.
func BytesOf[T Element](values []T) []byte {
	if len(values) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), len(values)*int(unsafe.Sizeof(values[0])))
}

// Array is a view of an array.
type Array[T Element] struct {
	view   *storenode.View
	values []T
}

// GetArray is Get for an array with elements of type T; another type is
// ErrMismatch.
func GetArray[T Element](ctx context.Context, n *Node, id phalanx.ObjectID) (*Array[T], error) {
	v, err := n.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	a, err := ArrayOf[T](v)
	if err != nil {
		v.Release()
		return nil, err
	}
	return a, nil
}

// ArrayOf reads a view as an array, without a copy. Releasing the array
// releases the view.
func ArrayOf[T Element](v *storenode.View) (*Array[T], error) {
	if d := v.Meta().DType; d != DTypeOf[T]() {
		return nil, &phalanx.Error{Op: "get", Object: v.Info().Object, Kind: phalanx.ErrMismatch, Err: fmt.Errorf("the object holds %v, not %v", d, DTypeOf[T]())}
	}
	a := &Array[T]{view: v}
	b := v.Bytes()
	if len(b) == 0 {
		return a, nil
	}
	if uintptr(unsafe.Pointer(&b[0]))%unsafe.Alignof(*new(T)) != 0 {
		b = append(make([]byte, 0, len(b)), b...) // allocated memory is aligned
	}
	a.values = unsafe.Slice((*T)(unsafe.Pointer(&b[0])), len(b)/int(unsafe.Sizeof(*new(T))))
	return a, nil
}

// Values returns the elements. They are read-only and valid until Release.
func (a *Array[T]) Values() []T { return a.values }

// Shape returns the number of elements in each dimension.
func (a *Array[T]) Shape() []int64 { return a.view.Meta().Shape }

// Release gives the array back.
func (a *Array[T]) Release() {
	a.values = nil
	a.view.Release()
}
