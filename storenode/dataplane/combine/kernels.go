package combine

import (
	"unsafe"

	"github.com/viterin/vek"
	"github.com/viterin/vek/vek32"

	"github.com/phalanx-go/phalanx"
)

// kernel combines aligned arrays of one type.
type kernel func(dst, src []byte)

// block is the size that a vector kernel handles at once: the runtime cannot preempt assembly, and
// a garbage collection would have to wait for the whole array.
const block = 256 << 10

// row holds the kernels of one dtype; nil where an op is not defined.
type row struct{ sum, prod, min, max, and, or, xor kernel }

func (r *row) of(op phalanx.Op) kernel {
	switch op {
	case phalanx.Sum:
		return r.sum
	case phalanx.Prod:
		return r.prod
	case phalanx.Min:
		return r.min
	case phalanx.Max:
		return r.max
	case phalanx.And:
		return r.and
	case phalanx.Or:
		return r.or
	case phalanx.Xor:
		return r.xor
	}
	return nil
}

var kernels = [...]row{
	phalanx.Bytes: {},
	phalanx.Float16: {sum: halves(float16, sums), prod: halves(float16, products),
		min: halves(float16, minima), max: halves(float16, maxima)},
	phalanx.BFloat16: {sum: halves(bfloat16, sums), prod: halves(bfloat16, products),
		min: halves(bfloat16, minima), max: halves(bfloat16, maxima)},
	phalanx.Float32: {sum: blocks(vek32.Add_Inplace), prod: blocks(vek32.Mul_Inplace),
		min: minimum[float32], max: maximum[float32]},
	phalanx.Float64: {sum: blocks(vek.Add_Inplace), prod: blocks(vek.Mul_Inplace),
		min: minimum[float64], max: maximum[float64]},
	phalanx.Int8:   integers[int8](),
	phalanx.Int16:  integers[int16](),
	phalanx.Int32:  integers[int32](),
	phalanx.Int64:  integers[int64](),
	phalanx.Uint8:  integers[uint8](),
	phalanx.Uint16: integers[uint16](),
	phalanx.Uint32: integers[uint32](),
	phalanx.Uint64: integers[uint64](),
}

type integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

type number interface {
	integer | float32 | float64
}

// of returns p as elements; p is aligned.
func of[T any](p []byte) []T {
	if len(p) == 0 {
		return nil
	}
	var t T
	return unsafe.Slice((*T)(unsafe.Pointer(&p[0])), uintptr(len(p))/unsafe.Sizeof(t))
}

func blocks[T any](f func(x, y []T)) kernel {
	return func(dst, src []byte) {
		for len(dst) > 0 {
			n := min(len(dst), block)
			f(of[T](dst[:n]), of[T](src[:n]))
			dst, src = dst[n:], src[n:]
		}
	}
}

// Each loop is written out: a function for the op would be called per element.

// minimum and maximum are NaN where either is.
func minimum[T number](dst, src []byte) {
	x, y := of[T](dst), of[T](src)
	y = y[:len(x)]
	for i := range x {
		x[i] = min(x[i], y[i])
	}
}

func maximum[T number](dst, src []byte) {
	x, y := of[T](dst), of[T](src)
	y = y[:len(x)]
	for i := range x {
		x[i] = max(x[i], y[i])
	}
}

func integers[T integer]() row {
	return row{
		sum: func(dst, src []byte) {
			x, y := of[T](dst), of[T](src)
			y = y[:len(x)]
			for i := range x {
				x[i] += y[i]
			}
		},
		prod: func(dst, src []byte) {
			x, y := of[T](dst), of[T](src)
			y = y[:len(x)]
			for i := range x {
				x[i] *= y[i]
			}
		},
		min: minimum[T],
		max: maximum[T],
		and: words(func(a, b uint64) uint64 { return a & b }, func(a, b byte) byte { return a & b }),
		or:  words(func(a, b uint64) uint64 { return a | b }, func(a, b byte) byte { return a | b }),
		xor: words(func(a, b uint64) uint64 { return a ^ b }, func(a, b byte) byte { return a ^ b }),
	}
}

// words combines bits eight bytes at a time; the type of the elements does not
// matter to them, but dst and src may be aligned to it only.
func words(wide func(a, b uint64) uint64, narrow func(a, b byte) byte) kernel {
	return func(dst, src []byte) {
		n := 0
		if !misaligned(dst, 8) && !misaligned(src, 8) {
			n = len(dst) &^ 7
			x, y := of[uint64](dst[:n]), of[uint64](src[:n])
			y = y[:len(x)]
			for i := range x {
				x[i] = wide(x[i], y[i])
			}
		}
		for i := n; i < len(dst); i++ {
			dst[i] = narrow(dst[i], src[i])
		}
	}
}
