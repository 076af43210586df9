package workflow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"
	"unsafe"

	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
)

// codec turns the values of a type into bytes and back. Neither way shares memory with what it is given, but for
// encode of bytes and arrays. Bytes and arrays come back empty if they were nil.
type codec struct {
	typ    reflect.Type
	dtype  phalanx.DType // of a raw array; Bytes: it is none
	encode func(any) ([]byte, error)
	decode func([]byte) (any, error)
	finds  *finder[Ref]      // in values; nil: there are none
	actors *finder[ActorRef] // in values; nil: there are none
}

// codecFor returns the codec of T. It panics for a type that loses what it holds on the way.
func codecFor[T any]() codec { return mustCodec(reflect.TypeFor[T]()) }

func mustCodec(t reflect.Type) codec {
	c, why := codecOf(t)
	if why != "" {
		panic(fmt.Sprintf("workflow: %v cannot go between tasks: %s; use []byte, an array, a protobuf message, or a type that JSON carries", t, why))
	}
	return c
}

// codecOf returns the codec of a type: bytes and arrays as they are, protobuf messages as such, and what
// JSON carries as JSON. It says why there is none.
func codecOf(t reflect.Type) (c codec, why string) {
	if raw, ok := raws[t]; ok {
		return raw, ""
	}
	if t.Implements(reflect.TypeFor[proto.Message]()) && t.Kind() == reflect.Pointer {
		return codec{
			typ: t,
			encode: func(v any) ([]byte, error) {
				if reflect.ValueOf(v).IsNil() {
					return nil, errors.New("the message is nil")
				}
				return proto.MarshalOptions{Deterministic: true}.Marshal(v.(proto.Message))
			},
			decode: func(b []byte) (any, error) {
				m := reflect.New(t.Elem()).Interface().(proto.Message)
				return m, proto.Unmarshal(b, m)
			},
		}, ""
	}
	if why := unfit(t, map[reflect.Type]bool{}); why != "" {
		return codec{}, why
	}
	c = codec{typ: t, finds: finderOf[Ref](t, maxRefs), actors: finderOf[ActorRef](t, maxActorRefs)}
	c.encode = encodeJSON
	c.decode = func(b []byte) (any, error) {
		v := reflect.New(t)
		if err := json.Unmarshal(b, v.Interface()); err != nil {
			return nil, err
		}
		return v.Elem().Interface(), nil
	}
	return c, ""
}

// raws are the types that go as they are in memory.
var raws = map[reflect.Type]codec{
	reflect.TypeFor[[]byte](): {
		typ:    reflect.TypeFor[[]byte](),
		encode: func(v any) ([]byte, error) { return v.([]byte), nil },
		decode: func(b []byte) (any, error) { return append([]byte{}, b...), nil }, // never nil: where bytes come from does not show
	},
	reflect.TypeFor[[]float32](): array[float32](), reflect.TypeFor[[]float64](): array[float64](),
	reflect.TypeFor[[]int8](): array[int8](), reflect.TypeFor[[]int16](): array[int16](),
	reflect.TypeFor[[]int32](): array[int32](), reflect.TypeFor[[]int64](): array[int64](),
	reflect.TypeFor[[]uint16](): array[uint16](), reflect.TypeFor[[]uint32](): array[uint32](), reflect.TypeFor[[]uint64](): array[uint64](),
}

// array is the codec of an array, in the byte order of the machine: it is the same on all nodes of a cluster.
func array[E cluster.Element]() codec {
	var e E
	size := int(unsafe.Sizeof(e))
	return codec{
		typ:    reflect.TypeFor[[]E](),
		dtype:  cluster.DTypeOf[E](),
		encode: func(v any) ([]byte, error) { return cluster.BytesOf(v.([]E)), nil },
		decode: func(b []byte) (any, error) {
			if len(b)%size != 0 {
				return nil, fmt.Errorf("%d bytes are no multiple of an element's %d", len(b), size)
			}
			values := make([]E, len(b)/size)
			copy(cluster.BytesOf(values), b)
			return values, nil
		},
	}
}

// encodeJSON refuses what JSON would change: the encoder replaces bytes that are not UTF-8 without an error.
func encodeJSON(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(b) || replaced(b) {
		return nil, ErrNotUTF8
	}
	return b, nil
}

// replaced reports whether the encoder put an escaped U+FFFD in place of bytes that are not UTF-8. It writes that
// character as it is, where a text has it.
func replaced(b []byte) bool {
	escape := []byte(`\ufffd`)
	for at := 0; ; {
		i := bytes.Index(b[at:], escape)
		if i < 0 {
			return false
		}
		i += at
		slashes := 0 // before it: an odd number escapes the one that begins it
		for i-slashes > 0 && b[i-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return true
		}
		at = i + len(escape)
	}
}
