package combine

import (
	"encoding/binary"
	"math"
	"math/big"
	"slices"

	"github.com/phalanx-go/phalanx"
)

// The oracle combines one element at a time: integers as big numbers, floats in
// float64, halves by looking for the nearest of all halves. It shares nothing
// with the kernels.

func oracle(op phalanx.Op, d phalanx.DType, a, b []byte) []byte {
	if d.IsFloat() {
		return encodeFloat(d, combineFloat(op, d, decodeFloat(d, a), decodeFloat(d, b)))
	}
	x, y := decodeInt(d, a), decodeInt(d, b)
	z := new(big.Int)
	switch op {
	case phalanx.Sum:
		z.Add(x, y)
	case phalanx.Prod:
		z.Mul(x, y)
	case phalanx.Min:
		if z = x; y.Cmp(x) < 0 {
			z = y
		}
	case phalanx.Max:
		if z = x; y.Cmp(x) > 0 {
			z = y
		}
	case phalanx.And:
		z.And(x, y)
	case phalanx.Or:
		z.Or(x, y)
	case phalanx.Xor:
		z.Xor(x, y)
	}
	bits := uint(8 * d.Size())
	z = new(big.Int).Mod(z, new(big.Int).Lsh(big.NewInt(1), bits)) // wraps; two's complement
	out := make([]byte, d.Size())
	z.FillBytes(out)
	slices.Reverse(out)
	return out
}

func decodeInt(d phalanx.DType, p []byte) *big.Int {
	be := slices.Clone(p)
	slices.Reverse(be)
	x := new(big.Int).SetBytes(be)
	if signed := d >= phalanx.Int8 && d <= phalanx.Int64; signed && be[0] >= 0x80 {
		x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(8*len(be))))
	}
	return x
}

func combineFloat(op phalanx.Op, d phalanx.DType, x, y float64) float64 {
	switch op {
	case phalanx.Sum:
		return x + y
	case phalanx.Prod:
		return x * y
	}
	if math.IsNaN(x) || math.IsNaN(y) {
		return math.NaN()
	}
	if less := x < y || x == y && math.Signbit(x); less == (op == phalanx.Min) {
		return x
	}
	return y
}

func decodeFloat(d phalanx.DType, p []byte) float64 {
	switch d {
	case phalanx.Float64:
		return math.Float64frombits(binary.LittleEndian.Uint64(p))
	case phalanx.Float32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(p)))
	}
	return halfValue(d, binary.LittleEndian.Uint16(p))
}

// halfValue decodes by the definition of the format.
func halfValue(d phalanx.DType, h uint16) float64 {
	mbits, bias := 10, 15
	if d == phalanx.BFloat16 {
		mbits, bias = 7, 127
	}
	sign := 1.0
	if h>>15 == 1 {
		sign = math.Copysign(1, -1)
	}
	e, m := int(h&0x7fff)>>mbits, int(h)&(1<<mbits-1)
	switch {
	case e == 1<<(15-mbits)-1 && m != 0:
		return math.NaN()
	case e == 1<<(15-mbits)-1:
		return math.Inf(int(sign))
	case e == 0:
		return sign * math.Ldexp(float64(m), 1-bias-mbits)
	}
	return sign * math.Ldexp(float64(m+1<<mbits), e-bias-mbits)
}

func encodeFloat(d phalanx.DType, v float64) []byte {
	switch d {
	case phalanx.Float64:
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))
	case phalanx.Float32:
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(v)))
	}
	return binary.LittleEndian.AppendUint16(nil, nearestHalf(d, v))
}

// nearestHalf looks for the half next to v; between two, the even one.
func nearestHalf(d phalanx.DType, v float64) uint16 {
	inf := uint16(0x7c00)
	if d == phalanx.BFloat16 {
		inf = 0x7f80
	}
	sign := uint16(0)
	if math.Signbit(v) {
		sign = 0x8000
	}
	if math.IsNaN(v) {
		return inf + 1
	}
	if math.IsInf(v, 0) {
		return sign | inf
	}
	v = math.Abs(v)
	// Positive halves rise with their bits. hi is the first above v; infinity
	// stands where the next power of two would be.
	value := func(h uint16) float64 {
		if h == inf {
			return 2 * halfValue(d, inf-1<<(map[phalanx.DType]int{phalanx.Float16: 10, phalanx.BFloat16: 7}[d]))
		}
		return halfValue(d, h)
	}
	lo, hi := uint16(0), inf
	if v >= value(inf) {
		return sign | inf
	}
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; value(mid) <= v {
			lo = mid
		} else {
			hi = mid
		}
	}
	down, up := v-value(lo), value(hi)-v
	if down < up || down == up && lo&1 == 0 {
		return sign | lo
	}
	return sign | hi
}
