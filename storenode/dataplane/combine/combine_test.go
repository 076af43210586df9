package combine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/phalanx-go/phalanx"
)

var (
	ops    = []phalanx.Op{phalanx.Sum, phalanx.Prod, phalanx.Min, phalanx.Max, phalanx.And, phalanx.Or, phalanx.Xor}
	dtypes = []phalanx.DType{phalanx.Float16, phalanx.BFloat16, phalanx.Float32, phalanx.Float64, phalanx.Int8, phalanx.Int16,
		phalanx.Int32, phalanx.Int64, phalanx.Uint8, phalanx.Uint16, phalanx.Uint32, phalanx.Uint64}
)

// TestCombineMatchesOracle covers each op on each dtype, with arrays of any length at any
// offset, whose bits are random or those of special values.
func TestCombineMatchesOracle(t *testing.T) {
	for _, op := range ops {
		for _, d := range dtypes {
			if !op.Supports(d) {
				continue
			}
			t.Run(string(op)+"/"+d.String(), rapid.MakeCheck(func(t *rapid.T) {
				size := int(d.Size())
				n := rapid.SampledFrom([]int{0, 1, 2, 3, 7, 33, 200, 1031}).Draw(t, "elements") * size
				seed := rapid.Uint64().Draw(t, "seed")
				x := at(elements(d, n, seed), rapid.IntRange(0, 8).Draw(t, "dst offset"))
				y := at(elements(d, n, seed*3+1), rapid.IntRange(0, 8).Draw(t, "src offset"))
				want := make([]byte, 0, n)
				for i := 0; i < n; i += size {
					want = append(want, oracle(op, d, x[i:i+size], y[i:i+size])...)
				}
				before := bytes.Clone(y)
				if err := Combine(op, d, x, y); err != nil {
					t.Fatal(err)
				}
				for i := 0; i < n; i += size {
					if !same(d, x[i:i+size], want[i:i+size]) {
						t.Fatalf("element %d is %x, want %x", i/size, x[i:i+size], want[i:i+size])
					}
				}
				if !bytes.Equal(before, y) {
					t.Fatal("src changed")
				}
			}))
		}
	}
}

// elements returns n bytes of elements, every third of them special.
func elements(d phalanx.DType, n int, seed uint64) []byte {
	special := []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), 65504, 65520, 0x1p-24, 0x1p-14, 3e38}
	p := make([]byte, 0, n+8)
	for i := 0; len(p) < n; i++ {
		seed = seed*6364136223846793005 + 1442695040888963407
		if d.IsFloat() && seed>>60 < 5 {
			p = append(p, encodeFloat(d, special[int(seed>>40)%len(special)])...)
			continue
		}
		p = binary.LittleEndian.AppendUint64(p, seed^seed>>29)[:len(p)+int(d.Size())]
	}
	return p
}

// at returns a copy of p that begins off bytes behind an aligned address.
func at(p []byte, off int) []byte {
	return append(make([]byte, off, off+len(p)), p...)[off:]
}

// same compares two elements; any two NaNs are the same.
func same(d phalanx.DType, a, b []byte) bool {
	if d.IsFloat() && math.IsNaN(decodeFloat(d, a)) {
		return math.IsNaN(decodeFloat(d, b))
	}
	return bytes.Equal(a, b)
}

// TestHalvesRoundTrip converts every half to float32 and back.
func TestHalvesRoundTrip(t *testing.T) {
	for h := range 1 << 16 {
		for _, c := range []struct {
			d  phalanx.DType
			is float32
			as func(float32) uint16
		}{
			{phalanx.Float16, fromFloat16(uint16(h)), toFloat16},
			{phalanx.BFloat16, fromBFloat16(uint16(h)), toBFloat16},
		} {
			want := halfValue(c.d, uint16(h))
			if math.IsNaN(want) {
				if c.is == c.is || !math.IsNaN(halfValue(c.d, c.as(c.is))) {
					t.Fatalf("%v %04x is a NaN, came out as %v", c.d, h, c.is)
				}
				continue
			}
			if float64(c.is) != want || c.as(c.is) != uint16(h) {
				t.Fatalf("%v %04x is %v, came out as %v and went back as %04x", c.d, h, want, c.is, c.as(c.is))
			}
		}
	}
}

func TestRoundingToHalves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := math.Float32frombits(rapid.Uint32().Draw(t, "bits"))
		if f != f {
			return
		}
		if got, want := toFloat16(f), nearestHalf(phalanx.Float16, float64(f)); got != want {
			t.Fatalf("float16 of %v is %04x, want %04x", f, got, want)
		}
		if got, want := toBFloat16(f), nearestHalf(phalanx.BFloat16, float64(f)); got != want {
			t.Fatalf("bfloat16 of %v is %04x, want %04x", f, got, want)
		}
	})
}

func TestBadCombine(t *testing.T) {
	p := make([]byte, 64)
	var none Registry
	for name, c := range map[string]struct {
		err  error
		kind phalanx.Kind
	}{
		"lengths differ":       {Combine(phalanx.Sum, phalanx.Int32, p[:8], p[32:36]), phalanx.ErrMismatch},
		"half an element":      {Combine(phalanx.Sum, phalanx.Int32, p[:6], p[32:38]), phalanx.ErrInvalid},
		"overlap":              {Combine(phalanx.Sum, phalanx.Int32, p[:16], p[8:24]), phalanx.ErrInvalid},
		"no dtype":             {Combine(phalanx.Sum, phalanx.DType(99), p[:8], p[32:40]), phalanx.ErrInvalid},
		"bytes":                {Combine(phalanx.Sum, phalanx.Bytes, p[:8], p[32:40]), phalanx.ErrUnknownOp},
		"xor of floats":        {Combine(phalanx.Xor, phalanx.Float32, p[:8], p[32:40]), phalanx.ErrUnknownOp},
		"not registered":       {none.Combine("mean", phalanx.Float32, p[:8], p[32:40]), phalanx.ErrUnknownOp},
		"a built-in name":      {none.Register(phalanx.Sum, func(phalanx.DType, []byte, []byte) error { return nil }), phalanx.ErrInvalid},
		"an op without a name": {none.Register("", func(phalanx.DType, []byte, []byte) error { return nil }), phalanx.ErrInvalid},
		"an op of nothing":     {none.Register("x", nil), phalanx.ErrInvalid},
	} {
		if !errors.Is(c.err, c.kind) {
			t.Errorf("%s: %v, want %v", name, c.err, c.kind)
		}
	}
}

// An error about an unknown op lists the known ones.
func TestUnknownOpListsTheOps(t *testing.T) {
	p := make([]byte, 64)
	var none, some Registry
	for i := range maxListed + 1 {
		if err := some.Register(phalanx.Op(fmt.Sprintf("own%02d", i)), func(phalanx.DType, []byte, []byte) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		err  error
		says []string
	}{
		"built-in":      {Combine("mean", phalanx.Float32, p[:8], p[32:40]), []string{`"mean" on float32`, "sum, prod, min and max", "xor of integers"}},
		"none":          {none.Combine("mean", phalanx.Float32, p[:8], p[32:40]), []string{"sum, prod, min and max", "none of the application's own"}},
		"some":          {some.Combine("mean", phalanx.Float32, p[:8], p[32:40]), []string{"sum, prod, min and max", `"own00", "own01"`, `"own19", 1 more`}},
		"xor of floats": {some.Combine(phalanx.Xor, phalanx.Float32, p[:8], p[32:40]), []string{`"xor" on float32`, `"own00"`}},
		"asked before":  {some.Known("mean"), []string{`"mean"`, "sum, prod, min and max", `"own00"`}},
	} {
		for _, s := range c.says {
			if !errors.Is(c.err, phalanx.ErrUnknownOp) || !strings.Contains(c.err.Error(), s) {
				t.Errorf("%s: %v, want %q", name, c.err, s)
			}
		}
	}
	for _, op := range []phalanx.Op{phalanx.Sum, phalanx.Xor, "own03"} {
		if err := some.Known(op); err != nil {
			t.Errorf("%s: %v", op, err)
		}
	}
}

func TestRegistry(t *testing.T) {
	var r Registry
	or := func(_ phalanx.DType, dst, src []byte) error {
		for i := range dst {
			dst[i] |= src[i]
		}
		return nil
	}
	if err := r.Register("tags", or); err != nil {
		t.Fatal(err)
	}
	if err := r.Register("tags", or); !errors.Is(err, phalanx.ErrInvalid) {
		t.Fatalf("an op was registered twice: %v", err)
	}
	x, y := []byte{1, 2}, []byte{4, 8}
	if err := r.Combine("tags", phalanx.Bytes, x, y); err != nil || x[0] != 5 || x[1] != 10 {
		t.Fatalf("%v %v", x, err)
	}
	if err := r.Combine(phalanx.Sum, phalanx.Uint8, x, y); err != nil || x[0] != 9 {
		t.Fatalf("%v %v", x, err)
	}
	if !r.Has("tags", phalanx.Bytes) || !r.Has(phalanx.Sum, phalanx.Int8) || r.Has(phalanx.And, phalanx.Float32) || r.Has("no", phalanx.Int8) {
		t.Fatal("Has is wrong")
	}
}

func TestCombineAllocatesNothing(t *testing.T) {
	x, y := make([]byte, 1<<20), make([]byte, 1<<20)
	for _, d := range dtypes {
		if n := testing.AllocsPerRun(5, func() { _ = Combine(phalanx.Sum, d, x, y) }); n != 0 {
			t.Errorf("%v: %v allocations", d, n)
		}
	}
}

// BenchmarkCombineFloat32Sum adds arrays that are out of cache.
func BenchmarkCombineFloat32Sum(b *testing.B) { benchmark(b, phalanx.Sum, phalanx.Float32, 64<<20) }

func BenchmarkCombine(b *testing.B) {
	for _, c := range []struct {
		op phalanx.Op
		d  phalanx.DType
	}{{phalanx.Sum, phalanx.Float64}, {phalanx.Max, phalanx.Float32}, {phalanx.Sum, phalanx.Int32}, {phalanx.Xor, phalanx.Int8},
		{phalanx.Sum, phalanx.Int8}, {phalanx.Sum, phalanx.Float16}, {phalanx.Sum, phalanx.BFloat16}} {
		b.Run(string(c.op)+"/"+c.d.String(), func(b *testing.B) { benchmark(b, c.op, c.d, 4<<20) })
	}
}

func benchmark(b *testing.B, op phalanx.Op, d phalanx.DType, n int) {
	x, y := make([]byte, n), make([]byte, n)
	for i := range x {
		x[i], y[i] = 0, 0 // touched
	}
	b.SetBytes(int64(n))
	b.ReportAllocs()
	for b.Loop() {
		if err := Combine(op, d, x, y); err != nil {
			b.Fatal(err)
		}
	}
}

// An op of an application that panics or fails becomes an error that names it.
func TestAnOpThatFails(t *testing.T) {
	long := strings.Repeat("ä", maxText)
	for name, c := range map[string]struct {
		f    Func
		kind phalanx.Kind
		text string
	}{
		"an error":     {func(phalanx.DType, []byte, []byte) error { return errors.New("no") }, phalanx.ErrInvalid, `the op "f" failed: no`},
		"its own kind": {func(phalanx.DType, []byte, []byte) error { return phalanx.ErrNoSpace }, phalanx.ErrNoSpace, `the op "f" failed: no space`},
		"a panic":      {func(phalanx.DType, []byte, []byte) error { panic("no") }, phalanx.ErrInternal, `the op "f" failed: it panicked: no`},
		"an index":     {func(_ phalanx.DType, dst, _ []byte) error { dst[len(dst)] = 0; return nil }, phalanx.ErrInternal, "out of range"},
		"a long text":  {func(phalanx.DType, []byte, []byte) error { return errors.New(long) }, phalanx.ErrInvalid, "ää …"},
	} {
		var r Registry
		if err := r.Register("f", c.f); err != nil {
			t.Fatal(err)
		}
		err := r.Combine("f", phalanx.Bytes, []byte{1}, []byte{2})
		kind, text := Failure(err)
		if kind != c.kind || !strings.Contains(text, c.text) || len(text) > maxText+10 || !utf8.ValidString(text) {
			t.Errorf("%s: %v %q", name, kind, text)
		}
		var p *Panic
		if errors.As(err, &p) != (c.kind == phalanx.ErrInternal) || p != nil && !bytes.Contains(p.Stack, []byte("combine_test.go")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
