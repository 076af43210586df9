package combine

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/phalanx-go/phalanx"
)

// Panic is the panic of an application's op. An error of Registry.Combine wraps it.
type Panic struct {
	Value any
	Stack []byte // of the goroutine that called the op
}

// Error returns the value, without the stack.
func (p *Panic) Error() string { return fmt.Sprintf("it panicked: %v", p.Value) }

// call calls the op of an application. A panic of the op ends only the combination, not the
// process: it becomes an error of kind ErrInternal. An error keeps its kind, or gets ErrInvalid.
// Both name the op.
func call(op phalanx.Op, f Func, dtype phalanx.DType, dst, src []byte) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = failed(op, phalanx.ErrInternal, &Panic{v, debug.Stack()})
		}
	}()
	if err := f(dtype, dst, src); err != nil {
		return failed(op, kindOf(err), err)
	}
	return nil
}

func failed(op phalanx.Op, kind phalanx.Kind, err error) error {
	return &phalanx.Error{Op: "combine", Kind: kind, Err: fmt.Errorf("the op %q failed: %w", string(op), err)}
}

// maxText bounds the text of an application's error: it crosses to other nodes.
const maxText = 1 << 10

// Failure returns the kind and the text of an error of Combine.
func Failure(err error) (phalanx.Kind, string) {
	text := err.Error()
	var e *phalanx.Error
	if errors.As(err, &e) && e.Err != nil {
		text = e.Err.Error()
	}
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + " …"
	}
	return kindOf(err), text
}

// kindOf returns the kind of an application's error.
func kindOf(err error) phalanx.Kind {
	var e *phalanx.Error
	if errors.As(err, &e) && e.Kind != 0 {
		return e.Kind
	}
	var k phalanx.Kind
	if errors.As(err, &k) && k != 0 {
		return k
	}
	return phalanx.ErrInvalid
}
