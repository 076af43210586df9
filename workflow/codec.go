package workflow

import (
	"encoding/json"
	"fmt"
	"reflect"

	"google.golang.org/protobuf/proto"
)

// codec turns the values of a type into bytes and back.
type codec struct {
	encode func(any) ([]byte, error)
	decode func([]byte) (any, error)
}

// codecFor returns the codec of T: bytes as they are, protobuf messages as such, and what JSON
// carries as JSON. It panics for a type that loses what it holds on the way.
func codecFor[T any]() codec {
	t := reflect.TypeFor[T]()
	switch {
	case t == reflect.TypeFor[[]byte]():
		return codec{
			encode: func(v any) ([]byte, error) { return v.([]byte), nil },
			decode: func(b []byte) (any, error) { return b, nil },
		}
	case t.Implements(reflect.TypeFor[proto.Message]()) && t.Kind() == reflect.Pointer:
		return codec{
			encode: func(v any) ([]byte, error) {
				return proto.MarshalOptions{Deterministic: true}.Marshal(v.(proto.Message))
			},
			decode: func(b []byte) (any, error) {
				m := reflect.New(t.Elem()).Interface().(proto.Message)
				return any(m).(T), proto.Unmarshal(b, m)
			},
		}
	}
	if why := unfit(t, map[reflect.Type]bool{}); why != "" {
		panic(fmt.Sprintf("workflow: %v cannot go between tasks: %s; use []byte, a protobuf message, or a type that JSON carries", t, why))
	}
	return codec{
		encode: json.Marshal,
		decode: func(b []byte) (any, error) {
			var v T
			err := json.Unmarshal(b, &v)
			return v, err
		},
	}
}

// unfit says why JSON loses what a type holds; "": it does not.
func unfit(t reflect.Type, seen map[reflect.Type]bool) string {
	if seen[t] || t.Implements(reflect.TypeFor[json.Marshaler]()) && reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return ""
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.UnsafePointer, reflect.Complex64, reflect.Complex128:
		return fmt.Sprintf("JSON does not carry a %v", t.Kind())
	case reflect.Interface:
		return "an interface does not say which type to make"
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return unfit(t.Elem(), seen)
	case reflect.Map:
		if k := t.Key().Kind(); k != reflect.String && (k < reflect.Int || k > reflect.Uint64) {
			return fmt.Sprintf("JSON has no keys of type %v", t.Key())
		}
		return unfit(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if tag := f.Tag.Get("json"); tag == "-" {
				continue
			}
			if !f.IsExported() && !f.Anonymous {
				return fmt.Sprintf("its field %s is not exported", f.Name)
			}
			if why := unfit(f.Type, seen); why != "" {
				return fmt.Sprintf("field %s: %s", f.Name, why)
			}
		}
	}
	return ""
}
