package workflow

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/phalanx-go/phalanx"
)

// found is what a reader calls with each Ref and each ActorRef that it finds, up to the first error.
type found struct {
	ref   func(Ref) error
	actor func(*actorUse, *origin) error
}

// argument is what a task is given for one of its arguments: exactly one field is set.
type argument struct {
	bytes  []byte  // of an output or a constant
	of     *origin // of bytes, if another task has made them
	failed error   // of a step whose error is caught
	list   []argument
	isList bool
}

// reader makes the values of an argument's type: of bytes, of a list of arguments, or an Outcome.
type reader struct {
	typ     reflect.Type
	whole   codec        // its typ is nil if bytes cannot be such a value
	elem    *reader      // of a list of arguments; nil: made of typ when it is needed, if typ is a slice
	outcome reflect.Type // of an Outcome: the value's type
}

// caught is implemented by a pointer to an Outcome.
type caught interface {
	of() reflect.Type
	set(v any, err error)
}

// readerFor returns the reader of T. It panics for a type that no argument can have.
func readerFor[T any]() reader {
	r, why := readerOf(reflect.TypeFor[T]())
	if why != "" {
		panic(fmt.Sprintf("workflow: %v cannot be an argument: %s; use []byte, an array, a protobuf message, or a type that JSON carries", r.typ, why))
	}
	return r
}

func readerOf(t reflect.Type) (reader, string) {
	r := reader{typ: t}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[caught]()) {
		r.outcome = reflect.New(t).Interface().(caught).of()
		_, why := codecOf(r.outcome)
		return r, why
	}
	c, why := codecOf(t)
	if why == "" {
		r.whole = c
		return r, ""
	}
	if t.Kind() != reflect.Slice {
		return r, why
	}
	elem, not := readerOf(t.Elem())
	if not != "" {
		return r, why
	}
	r.elem = &elem
	return r, ""
}

// read makes the value of an argument, and finds what is in it.
func (r reader) read(a argument, visit found) (any, error) {
	switch {
	case r.outcome != nil:
		return r.readOutcome(a, visit)
	case a.failed != nil:
		return nil, errors.New("it is the error of a task, and the function takes no Outcome")
	case a.isList:
		return r.readList(a, visit)
	case r.whole.typ == nil:
		return nil, fmt.Errorf("no bytes are a %v", r.typ)
	}
	v, err := r.whole.decode(a.bytes)
	if err != nil {
		return nil, err
	}
	if err := r.whole.finds.find(v, visit.ref); err != nil {
		return nil, err
	}
	return v, r.whole.actors.find(v, func(ref ActorRef) error {
		if ref.of == nil {
			return nil
		}
		return visit.actor(ref.of, a.of)
	})
}

func (r reader) readOutcome(a argument, visit found) (any, error) {
	out := reflect.New(r.typ)
	if a.failed != nil {
		out.Interface().(caught).set(reflect.Zero(r.outcome).Interface(), a.failed)
		return out.Elem().Interface(), nil
	}
	of, why := readerOf(r.outcome)
	if why != "" {
		return nil, errors.New(why)
	}
	v, err := of.read(a, visit)
	if err != nil {
		return nil, err
	}
	out.Interface().(caught).set(v, nil)
	return out.Elem().Interface(), nil
}

func (r reader) readList(a argument, visit found) (any, error) {
	if r.typ.Kind() != reflect.Slice {
		return nil, fmt.Errorf("a list is no %v", r.typ)
	}
	elem := r.elem
	if elem == nil {
		e, why := readerOf(r.typ.Elem())
		if why != "" {
			return nil, errors.New(why)
		}
		elem = &e
	}
	all := reflect.MakeSlice(r.typ, len(a.list), len(a.list))
	for i, in := range a.list {
		v, err := elem.read(in, visit)
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
		all.Index(i).Set(reflect.ValueOf(v))
	}
	return all.Interface(), nil
}

// invalid says that a program did what it must not.
func invalid(op string, err error) error {
	return &phalanx.Error{Op: op, Kind: phalanx.ErrInvalid, Err: err}
}
