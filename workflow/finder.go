package workflow

import (
	"fmt"
	"reflect"
)

// maxRefs is the largest number of Refs in a value: a checkpoint and the end of a run deal with each.
const maxRefs = 10_000

// maxActorRefs is the largest number of ActorRefs in a value.
const maxActorRefs = 10_000

// finder finds the Ts in values of a type, which are Refs or ActorRefs: in fields, pointers, slices, arrays and maps, wherever JSON writes
// them. A type that has none anywhere has no finder, so that most values are not looked at.
type finder[T any] struct {
	into map[reflect.Type]bool // types from which one can be reached
	most int
}

// finderOf returns nil if no value of t has a T.
func finderOf[T any](t reflect.Type, most int) *finder[T] {
	target := reflect.TypeFor[T]()
	if !holds(t, target, map[reflect.Type]bool{}) {
		return nil
	}
	f := &finder[T]{into: map[reflect.Type]bool{}, most: most}
	for part := range parts(t) {
		f.into[part] = holds(part, target, map[reflect.Type]bool{})
	}
	return f
}

// find calls visit with each T in a value, up to the first error. The value has no cycle.
func (f *finder[T]) find(v any, visit func(T) error) error {
	if f == nil {
		return nil
	}
	n := 0
	return f.walk(reflect.ValueOf(v), func(r T) error {
		if n++; n > f.most {
			return fmt.Errorf("there are more than %d %ss in it: put a list of them into an object", f.most, reflect.TypeFor[T]().Name())
		}
		return visit(r)
	})
}

func (f *finder[T]) walk(v reflect.Value, visit func(T) error) error {
	if !v.IsValid() || !f.into[v.Type()] {
		return nil
	}
	if v.Type() == reflect.TypeFor[T]() {
		return visit(v.Interface().(T))
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return f.walk(v.Elem(), visit)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if err := f.walk(v.Index(i), visit); err != nil {
				return err
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if err := f.walk(it.Value(), visit); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("json") == "-" {
				continue
			}
			if err := f.walk(v.Field(i), visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// holds reports whether a value of t can reach a target.
func holds(t, target reflect.Type, seen map[reflect.Type]bool) bool {
	if t == target {
		return true
	}
	if seen[t] {
		return false
	}
	seen[t] = true
	for _, part := range partsOf(t) {
		if holds(part, target, seen) {
			return true
		}
	}
	return false
}

// parts returns t and all types that its values can reach.
func parts(t reflect.Type) map[reflect.Type]bool {
	all, todo := map[reflect.Type]bool{t: true}, []reflect.Type{t}
	for len(todo) > 0 {
		next := partsOf(todo[0])
		todo = todo[1:]
		for _, p := range next {
			if !all[p] {
				all[p] = true
				todo = append(todo, p)
			}
		}
	}
	return all
}

// partsOf returns the types of which a type is made.
func partsOf(t reflect.Type) (all []reflect.Type) {
	if t == reflect.TypeFor[ActorRef]() { // what it points to is the attempt's
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return []reflect.Type{t.Elem()}
	case reflect.Struct:
		for i := range t.NumField() {
			if t.Field(i).Tag.Get("json") != "-" {
				all = append(all, t.Field(i).Type)
			}
		}
	}
	return all
}
