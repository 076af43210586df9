package workflow

import (
	"fmt"
	"reflect"
)

// maxRefs is the largest number of Refs in a value: a checkpoint and the end of a run deal with each.
const maxRefs = 10_000

// finder finds the Refs in values of a type: in fields, pointers, slices, arrays and maps, wherever JSON writes them. A type
// that has no Ref anywhere has no finder, so that most values are not looked at.
type finder struct {
	into map[reflect.Type]bool // types from which a Ref can be reached
}

// finderOf returns nil if no value of t has a Ref.
func finderOf(t reflect.Type) *finder {
	if !holds(t, reflect.TypeFor[Ref](), map[reflect.Type]bool{}) {
		return nil
	}
	f := &finder{into: map[reflect.Type]bool{}}
	for part := range parts(t) {
		f.into[part] = holds(part, reflect.TypeFor[Ref](), map[reflect.Type]bool{})
	}
	return f
}

// find calls visit with each Ref in a value, up to the first error. The value was encoded before, so it has no cycle.
func (f *finder) find(v any, visit func(Ref) error) error {
	if f == nil {
		return nil
	}
	n := 0
	return f.walk(reflect.ValueOf(v), func(r Ref) error {
		if n++; n > maxRefs {
			return fmt.Errorf("there are more than %d Refs in it: put a list of them into an object", maxRefs)
		}
		return visit(r)
	})
}

func (f *finder) walk(v reflect.Value, visit func(Ref) error) error {
	if !v.IsValid() || !f.into[v.Type()] {
		return nil
	}
	if v.Type() == reflect.TypeFor[Ref]() {
		return visit(v.Interface().(Ref))
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
