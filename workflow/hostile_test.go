package workflow

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/storenode"
)

// Tests in this file have tasks that nobody would write on purpose. None may end the node or keep an attempt for ever.

// explosive is a type whose methods panic.
type explosive struct{ A int }

func (explosive) MarshalJSON() ([]byte, error)  { panic("encoded") }
func (*explosive) UnmarshalJSON(b []byte) error { panic("decoded") }

func TestPanicsOutsideTheFunction(t *testing.T) {
	gives := Func0("gives", 1, func(Context) (explosive, error) { return explosive{}, nil })
	takes := Func1("takes", 1, func(Context, explosive) (int, error) { return 0, nil }).Compensate(func(Context, explosive, int) error { return nil })
	b := benchOf(t, gives, takes)
	for want, a := range map[string]*attempt{
		"panicked: encoded": b.of(gives.Bind()),
		"panicked: decoded": b.of(takes.Bind(gives.Bind()), given{bytes: []byte("{}")}),
	} {
		e := b.run(t.Context(), a, nil)
		contains(t, e.err, want, "hostile_test.go")
		if p := new(PanicError); !errors.As(e.err, &p) || !e.final {
			t.Errorf("%v, final %v", e.err, e.final)
		}
	}
}

// A nil pointer that is not a nil error is the most common mistake with errors.
func TestErrorsThatPanic(t *testing.T) {
	f := Func0("f", 1, func(Context) (int, error) {
		var none *fs.PathError
		return 0, none
	})
	b := benchOf(t, f)
	e := b.run(t.Context(), b.of(f.Bind()), nil)
	contains(t, e.err, "task f@1: the task panicked", "nil pointer")
}

// The text of an error is recorded: it is short and UTF-8.
func TestTextOfErrors(t *testing.T) {
	cause := errors.New("x\xff" + strings.Repeat("y", 1<<20))
	f := Func0("f", 1, func(Context) (int, error) { return 0, Permanent(cause) })
	b := benchOf(t, f)
	e := b.run(t.Context(), b.of(f.Bind()), nil)
	is(t, e.err, cause)
	if text := e.err.Error(); !e.final || len(text) > maxErrorText+100 || strings.ToValidUTF8(text, "") != text {
		t.Errorf("the text of the error has %d bytes, final %v", len(text), e.final)
	}
}

// stuck is a store that gives and takes nothing until the context has ended.
type stuck struct{ objects }

func (stuck) Put(ctx context.Context, _ phalanx.ObjectID, _ []byte, _ phalanx.Meta) (storenode.Info, error) {
	<-ctx.Done()
	return storenode.Info{}, ctx.Err()
}

func (stuck) TryGet(ctx context.Context, _ phalanx.ObjectID) (*storenode.View, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// Timeout counts from the first input to the output.
func TestTimeoutOfInputsAndOutput(t *testing.T) {
	large := Func0("large", 1, func(Context) ([]byte, error) { return make([]byte, maxInline+1), nil }).With(Timeout(time.Minute))
	reads := Func1("reads", 1, func(Context, []byte) (int, error) { return 0, nil }).With(Timeout(time.Minute))
	for name, of := range map[string]func(b *bench) *attempt{
		"output": func(b *bench) *attempt { return b.of(large.Bind()) },
		"input": func(b *bench) *attempt {
			return b.of(reads.Bind(large.Bind()), given{object: Ref{id: "a/b", size: 1}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := benchOf(t, large, reads)
				b.store = stuck{b.store}
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				began := time.Now()
				e := b.run(ctx, of(b), nil)
				is(t, e.err, phalanx.ErrDeadline)
				contains(t, e.err, "its Timeout of 1m0s")
				if e.final || time.Since(began) != time.Minute {
					t.Errorf("after %v, final %v", time.Since(began), e.final)
				}
			})
		})
	}
}

// A task that has made as many objects as it may has an output still.
func TestOutputBesideAllObjects(t *testing.T) {
	f := Func0("f", 1, func(c Context) ([]byte, error) {
		for i := range maxPuts {
			if _, err := c.Put(fmt.Sprint(i), nil); err != nil {
				return nil, err
			}
		}
		if _, err := c.Put("more", nil); !errors.Is(err, phalanx.ErrInvalid) {
			t.Errorf("one object more: %v", err)
		}
		return make([]byte, maxInline+1), nil
	})
	b := benchOf(t, f)
	if e := b.run(t.Context(), b.of(f.Bind()), nil); e.err != nil || len(e.made) != maxPuts+1 {
		t.Errorf("%d objects, %v", len(e.made), e.err)
	}
}

// A task that asks for a lost object again and again tells of it once.
func TestMissingIsToldOnce(t *testing.T) {
	f := Func1("f", 1, func(c Context, r Ref) (int, error) {
		for range 1000 {
			if _, err := c.Get(r); !errors.Is(err, phalanx.ErrNotFound) {
				t.Error(err)
			}
		}
		return 0, nil
	})
	b := benchOf(t, f)
	if e := b.run(t.Context(), b.of(f.Bind(Value(Ref{id: "a/b", size: 1}))), nil); len(e.missing) != 1 {
		t.Errorf("%d objects are missing: %v", len(e.missing), e.err)
	}
}

// A task that reads an object again and again, and releases it, leaves nothing.
func TestViewsThatAreReleased(t *testing.T) {
	f := Func1("f", 1, func(c Context, r Ref) (int, error) {
		kept, err := c.Get(r)
		if err != nil {
			return 0, err
		}
		for range 1000 {
			v, err := c.Get(r)
			if err != nil {
				return 0, err
			}
			v.Release()
			v.Release()
		}
		if n := len(c.(*attemptContext).life.views); n != 1 || string(kept.Bytes()) != "x" {
			t.Errorf("%d views of one are kept, with %q", n, kept.Bytes())
		}
		return 0, nil
	})
	b := benchOf(t, f)
	info, err := b.store.Put(t.Context(), "a/b", []byte("x"), phalanx.Meta{})
	if err != nil {
		t.Fatal(err)
	}
	if e := b.run(t.Context(), b.of(f.Bind(Value(RefOf(info)))), nil); e.err != nil {
		t.Error(e.err)
	}
}
