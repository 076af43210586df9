package workflow

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// unfit says why JSON loses what a type holds; "": it does not. Seen has the types that are being looked at, or are fit.
func unfit(t reflect.Type, seen map[reflect.Type]bool) (why string) {
	if seen[t] || t == reflect.TypeFor[Ref]() || t == reflect.TypeFor[ActorRef]() {
		return ""
	}
	seen[t] = true
	defer func() {
		if why != "" {
			delete(seen, t)
		}
	}()
	if t.Kind() != reflect.Pointer {
		if own, why := ownForm(t); why != "" || own {
			return why
		}
	}
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.UnsafePointer, reflect.Complex64, reflect.Complex128:
		return fmt.Sprintf("JSON does not carry a %v", t.Kind())
	case reflect.Interface:
		return "an interface does not say which type to make"
	case reflect.Pointer:
		why := unfit(t.Elem(), seen)
		if why != "" && t.Implements(marshaler) && t.Implements(unmarshaler) && hides(t) == "" { // as *big.Int
			return ""
		}
		return why
	case reflect.Slice, reflect.Array:
		return unfit(t.Elem(), seen)
	case reflect.Map:
		if k := t.Key().Kind(); k != reflect.String && (k < reflect.Int || k > reflect.Uint64) {
			return fmt.Sprintf("JSON has no keys of type %v", t.Key())
		}
		return unfit(t.Elem(), seen)
	case reflect.Struct:
		return unfitFields(t, map[string]bool{}, seen)
	}
	return ""
}

var (
	marshaler       = reflect.TypeFor[json.Marshaler]()
	unmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// ownForm reports whether a type has a JSON form of its own, both ways, or says why that form loses something.
func ownForm(t reflect.Type) (own bool, why string) {
	p := reflect.PointerTo(t)
	for _, way := range [][2]reflect.Type{{marshaler, unmarshaler}, {textMarshaler, textUnmarshaler}} {
		switch to, from := p.Implements(way[0]), p.Implements(way[1]); {
		case !to && !from:
			continue
		case to != from:
			return false, fmt.Sprintf("%v has a JSON form of its own one way only: give it both methods of a json.Marshaler and json.Unmarshaler, or of both of package encoding for text", t)
		case !t.Implements(way[0]):
			return false, fmt.Sprintf("%v has a JSON form of its own as a pointer only: use *%v, or have the method not be of the pointer", t, t)
		}
		if why := hides(t); why != "" {
			return false, why
		}
		if f, ok := embedsForm(t); ok {
			return false, fmt.Sprintf("the JSON form of its embedded %s can stand for all of %v: give the field a name", f, t)
		}
		return true, ""
	}
	if f, ok := embedsForm(t); ok { // two that are embedded, so that none stands for all
		return false, fmt.Sprintf("JSON does not use the form of its embedded %s: give the field a name", f)
	}
	return false, ""
}

// hides says that a type with a JSON form of its own has Refs or ActorRefs.
func hides(t reflect.Type) string {
	for _, hidden := range []reflect.Type{reflect.TypeFor[Ref](), reflect.TypeFor[ActorRef]()} {
		if holds(t, hidden, map[reflect.Type]bool{}) {
			return fmt.Sprintf("%v has a JSON form of its own, in which nobody finds its %v", t, hidden)
		}
	}
	return ""
}

// embedsForm returns the name of an embedded field that has a JSON form of its own beside other fields. The struct has
// the methods of that field, and JSON then drops the others; nobody can tell them from methods that are the struct's.
func embedsForm(t reflect.Type) (name string, ok bool) {
	if t.Kind() != reflect.Struct {
		return "", false
	}
	fields := 0
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Tag.Get("json") == "-" {
			continue
		}
		fields++
		if f.Anonymous && (hasForm(f.Type) || hasForm(reflect.PointerTo(f.Type))) {
			name = f.Name
		}
	}
	return name, name != "" && fields > 1
}

func hasForm(t reflect.Type) bool {
	return t.Implements(marshaler) || t.Implements(unmarshaler) || t.Implements(textMarshaler) || t.Implements(textUnmarshaler)
}

// unfitFields says why JSON loses what the fields of a struct hold. Names are those of the fields so far, with those of the
// structs in which this one is embedded: JSON leaves away fields of one name, or all but one.
func unfitFields(t reflect.Type, names map[string]bool, seen map[reflect.Type]bool) string {
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		if tag == "-" {
			continue
		}
		name, _, _ := strings.Cut(tag, ",")
		of := f.Type
		if f.Anonymous && of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		embedded := f.Anonymous && of.Kind() == reflect.Struct
		switch {
		case !f.IsExported() && (!embedded || of != f.Type):
			return fmt.Sprintf("its field %s is not exported", f.Name)
		case embedded && name == "":
			if seen[of] && of != f.Type { // a struct in itself
				return fmt.Sprintf("its field %s embeds a struct in itself", f.Name)
			}
			seen[of] = true
			why := unfitFields(of, names, seen)
			delete(seen, of) // alone it may have other names
			if why != "" {
				return why
			}
			continue
		}
		if name == "" {
			name = f.Name
		}
		if names[name] {
			return fmt.Sprintf("JSON calls two of its fields %q, and leaves away one or both", name)
		}
		names[name] = true
		if why := unfit(f.Type, seen); why != "" {
			return fmt.Sprintf("field %s: %s", f.Name, why)
		}
	}
	return ""
}
