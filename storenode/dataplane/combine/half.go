package combine

import "math"

// tile is how many halves the kernel widens at once, on the stack.
const tile = 512

// halves returns a kernel of 16-bit floats that are combined in float32. float32
// has more than twice their bits of mantissa, so that a sum or product is
// rounded as if only once.
func halves(f format, op arithmetic) kernel {
	return func(dst, src []byte) {
		x, y := of[uint16](dst), of[uint16](src)
		var a, b [tile]float32
		for len(x) > 0 {
			n := min(len(x), tile)
			f.widen(a[:n], x)
			f.widen(b[:n], y)
			op.apply(a[:n], b[:n])
			f.narrow(x, a[:n])
			x, y = x[n:], y[n:]
		}
	}
}

type arithmetic uint8

const (
	sums arithmetic = iota
	products
	minima
	maxima
)

func (op arithmetic) apply(a, b []float32) {
	b = b[:len(a)]
	switch op {
	case sums:
		for i := range a {
			a[i] += b[i]
		}
	case products:
		for i := range a {
			a[i] *= b[i]
		}
	case minima:
		for i := range a {
			a[i] = min(a[i], b[i]) // NaN if either is
		}
	case maxima:
		for i := range a {
			a[i] = max(a[i], b[i])
		}
	}
}

type format uint8

const (
	float16 format = iota
	bfloat16
)

func (f format) widen(to []float32, from []uint16) {
	from = from[:len(to)]
	if f == bfloat16 {
		for i := range to {
			to[i] = fromBFloat16(from[i])
		}
		return
	}
	for i := range to {
		to[i] = fromFloat16(from[i])
	}
}

func (f format) narrow(to []uint16, from []float32) {
	to = to[:len(from)]
	if f == bfloat16 {
		for i := range to {
			to[i] = toBFloat16(from[i])
		}
		return
	}
	for i := range to {
		to[i] = toFloat16(from[i])
	}
}

func fromBFloat16(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

func toBFloat16(f float32) uint16 {
	b := math.Float32bits(f)
	if b&0x7fffffff > 0x7f800000 {
		return uint16(b>>16) | 0x40 // NaN stays one
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

func fromFloat16(h uint16) float32 {
	sign, magnitude := uint32(h&0x8000)<<16, uint32(h&0x7fff)
	if magnitude >= 0x7c00 { // infinity, NaN
		return math.Float32frombits(sign | 0x7f800000 | magnitude&0x3ff<<13)
	}
	// The exponent is moved to its place and its bias mended by a multiplication,
	// which also gives subnormal halves their value.
	f := math.Float32frombits(magnitude<<13) * 0x1p112
	return math.Float32frombits(math.Float32bits(f) | sign)
}

func toFloat16(f float32) uint16 {
	b := math.Float32bits(f)
	sign, b := uint16(b>>16&0x8000), b&0x7fffffff
	switch {
	case b > 0x7f800000: // NaN
		return sign | 0x7e00 | uint16(b>>13&0x1ff)
	case b >= 0x477ff000: // rounds to 2^16 or more, or is infinite
		return sign | 0x7c00
	case b < 0x38800000: // below 2^-14: subnormal
		// Adding one half of the smallest normal's next power lets the addition round.
		return sign | uint16(math.Float32bits(math.Float32frombits(b)+0.5)-math.Float32bits(0.5))
	}
	b += 0xfff + b>>13&1 // to even
	return sign | uint16((b-0x38000000)>>13)
}
