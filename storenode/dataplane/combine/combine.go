// Package combine combines two arrays of a reduce: dst = dst op src, element by element, in place.
//
// Integers wrap. Halves are combined in float32 and rounded to even. NaN wins in min and max.
// Arrays are in the byte order of the machine, little-endian wherever Phalanx runs. Combine
// allocates nothing as long as the arrays are aligned to their element.
package combine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/phalanx-go/phalanx"
)

// Func combines src into dst, which have the same length, a multiple of the
// element's size, and do not overlap. It must be commutative and associative.
type Func func(dtype phalanx.DType, dst, src []byte) error

// Combine sets dst to dst op src for a built-in op. dst and src have the same
// length, a multiple of the element's size, and do not overlap.
func Combine(op phalanx.Op, dtype phalanx.DType, dst, src []byte) error {
	if err := check(dtype, dst, src); err != nil {
		return err
	}
	k := kernels[dtype].of(op)
	if k == nil {
		return (&Registry{}).unknown(op, dtype)
	}
	if size := uintptr(dtype.Size()); misaligned(dst, size) || misaligned(src, size) {
		aligned(k, dst, src)
	} else {
		k(dst, src)
	}
	return nil
}

// Registry knows the ops that an application has added, besides the built-in ones. The zero
// Registry is ready.
type Registry struct {
	mu  sync.RWMutex
	ops map[phalanx.Op]Func
}

// Register adds an op. Each name can be registered once.
func (r *Registry) Register(op phalanx.Op, f Func) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case op == "" || f == nil:
		return invalid("an op needs a name and a function")
	case op.Builtin() || r.ops[op] != nil:
		return invalid("the op %q exists", op)
	}
	if r.ops == nil {
		r.ops = map[phalanx.Op]Func{}
	}
	r.ops[op] = f
	return nil
}

// Has reports whether Combine knows op on elements of dtype. It assumes that an application's own
// op knows every dtype.
func (r *Registry) Has(op phalanx.Op, dtype phalanx.DType) bool {
	return op.Supports(dtype) || r.custom(op) != nil
}

// Known returns nil if an op has this name, for whatever dtype, else an ErrUnknownOp that lists the
// ops.
func (r *Registry) Known(op phalanx.Op) error {
	if op.Builtin() || r.custom(op) != nil {
		return nil
	}
	return &phalanx.Error{Op: "combine", Kind: phalanx.ErrUnknownOp, Err: fmt.Errorf("there is no op %q: %s", string(op), r.list())}
}

// Combine is the package's Combine that also knows the ops in r.
func (r *Registry) Combine(op phalanx.Op, dtype phalanx.DType, dst, src []byte) error {
	f := r.custom(op)
	if f == nil && !op.Supports(dtype) && dtype.Valid() {
		return r.unknown(op, dtype)
	}
	if f == nil {
		return Combine(op, dtype, dst, src)
	}
	if err := check(dtype, dst, src); err != nil {
		return err
	}
	return call(op, f, dtype, dst, src)
}

func (r *Registry) custom(op phalanx.Op) Func {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.ops[op]
}

func check(dtype phalanx.DType, dst, src []byte) error {
	switch {
	case !dtype.Valid():
		return invalid("%v is no element type", dtype)
	case len(dst) != len(src):
		return &phalanx.Error{Op: "combine", Kind: phalanx.ErrMismatch,
			Err: fmt.Errorf("the arrays have %d and %d bytes", len(dst), len(src))}
	case int64(len(dst))%dtype.Size() != 0:
		return invalid("%d bytes are no multiple of a %v's %d", len(dst), dtype, dtype.Size())
	case overlap(dst, src):
		return invalid("the arrays overlap")
	}
	return nil
}

func overlap(a, b []byte) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	x, y := uintptr(unsafe.Pointer(&a[0])), uintptr(unsafe.Pointer(&b[0]))
	return x < y+uintptr(len(b)) && y < x+uintptr(len(a))
}

func invalid(format string, args ...any) error {
	return &phalanx.Error{Op: "combine", Kind: phalanx.ErrInvalid, Err: fmt.Errorf(format, args...)}
}

func (r *Registry) unknown(op phalanx.Op, dtype phalanx.DType) error {
	return &phalanx.Error{Op: "combine", Kind: phalanx.ErrUnknownOp, Err: fmt.Errorf("there is no op %q on %v: %s", string(op), dtype, r.list())}
}

// maxListed bounds the application's ops in an error: it crosses to other nodes.
const maxListed = 20

// list names the known ops.
func (r *Registry) list() string {
	text := "there are sum, prod, min and max; and, or and xor of integers"
	r.mu.RLock()
	own := slices.Sorted(maps.Keys(r.ops))
	r.mu.RUnlock()
	if len(own) == 0 {
		return text + "; none of the application's own"
	}
	var names []string
	for _, op := range own[:min(len(own), maxListed)] {
		names = append(names, fmt.Sprintf("%.40q", string(op)))
	}
	if more := len(own) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return text + "; of the application's own " + strings.Join(names, ", ")
}

func misaligned(p []byte, size uintptr) bool {
	return len(p) > 0 && uintptr(unsafe.Pointer(&p[0]))%size != 0
}

// aligned runs k on aligned copies, a block at a time.
func aligned(k kernel, dst, src []byte) {
	var a, b [512]uint64
	x := unsafe.Slice((*byte)(unsafe.Pointer(&a)), unsafe.Sizeof(a))
	y := unsafe.Slice((*byte)(unsafe.Pointer(&b)), unsafe.Sizeof(b))
	for len(dst) > 0 {
		n := copy(x, dst)
		copy(y, src[:n])
		k(x[:n], y[:n])
		copy(dst, x[:n])
		dst, src = dst[n:], src[n:]
	}
}
