package messages

import (
	"fmt"
	"math"
	"reflect"
	"time"

	"pgregory.net/rapid"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/reduce"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// anyOf returns a generator of T that sets every field of it by reflection, so
// that a field that is new and not converted is found.
func anyOf[T any]() *rapid.Generator[T] {
	g := rapid.MakeCustom[T](config())
	return rapid.Custom(func(t *rapid.T) T {
		v := g.Draw(t, "value")
		return normal(reflect.ValueOf(v)).Interface().(T)
	})
}

func boxed[T any](g *rapid.Generator[T]) *rapid.Generator[any] { return g.AsAny() }

func upTo[T ~uint8](last T) *rapid.Generator[any] {
	return rapid.Map(rapid.Uint8Max(uint8(last)), func(v uint8) any { return T(v) })
}

func config() rapid.MakeConfig {
	c := rapid.MakeConfig{
		Types: map[reflect.Type]*rapid.Generator[any]{
			reflect.TypeFor[phalanx.ObjectID]():  boxed(rapid.Map(id(1), func(s string) phalanx.ObjectID { return phalanx.ObjectID(s) })),
			reflect.TypeFor[phalanx.NodeID]():    boxed(rapid.Map(id(0), func(s string) phalanx.NodeID { return phalanx.NodeID("n" + s) })),
			reflect.TypeFor[phalanx.Meta]():      boxed(metas()),
			reflect.TypeFor[phalanx.DType]():     upTo(phalanx.Uint64),
			reflect.TypeFor[phalanx.Kind]():      upTo(phalanx.ErrFailed),
			reflect.TypeFor[directory.State]():   upTo(directory.Deleted),
			reflect.TypeFor[directory.Order]():   upTo(directory.PushSpare),
			reflect.TypeFor[directory.Maker]():   upTo(directory.ByReduce),
			reflect.TypeFor[view.HaltRefusal]():  upTo(view.MaxHaltRefusal),
			reflect.TypeFor[reduce.Reason]():     upTo(reduce.LostUnheld),
			reflect.TypeFor[phalanx.Op]():        boxed(rapid.Map(id(1), func(s string) phalanx.Op { return phalanx.Op(s) })),
			reflect.TypeFor[view.Command]():      boxed(rapid.Custom(command)),
			reflect.TypeFor[view.View]():         boxed(rapid.Custom(aView)),
			reflect.TypeFor[[]byte]():            boxed(rapid.SliceOfN(rapid.Byte(), 0, 40)),
			reflect.TypeFor[time.Duration]():     boxed(rapid.Map(rapid.Int64(), func(n int64) time.Duration { return time.Duration(n) })),
			reflect.TypeFor[directory.Change]():  boxed(rapid.Custom(change)),
			reflect.TypeFor[directory.Body]():    boxed(rapid.Custom(body)),
			reflect.TypeFor[directory.Request](): boxed(rapid.Custom(request)),
		},
		Kinds: map[reflect.Kind]*rapid.Generator[any]{
			reflect.Int:   boxed(rapid.IntRange(0, math.MaxInt32)),
			reflect.Int64: boxed(rapid.Int64Min(0)),
		},
		Fields: map[reflect.Type]map[string]*rapid.Generator[any]{},
	}
	for typ, names := range optionalFields {
		c.Fields[typ] = map[string]*rapid.Generator[any]{}
		for _, name := range names {
			field, ok := typ.FieldByName(name)
			if !ok {
				panic(fmt.Sprintf("%v has no field %s", typ, name))
			}
			c.Fields[typ][name] = rapid.Map(id(0), func(s string) any {
				return reflect.ValueOf(s).Convert(field.Type).Interface()
			})
		}
	}
	return c
}

// optionalFields are the ids that may be empty.
var optionalFields = map[reflect.Type][]string{
	reflect.TypeFor[directory.Reply]():      {"Object"},
	reflect.TypeFor[directory.Result]():     {"Attached", "Sender", "Origin"},
	reflect.TypeFor[directory.ObjectStat](): {"Origin"},
	reflect.TypeFor[directory.HolderStat](): {"Upstream"},
	reflect.TypeFor[directory.Record]():     {"Origin"},
	reflect.TypeFor[directory.Holding]():    {"Upstream"},
	reflect.TypeFor[directory.List]():       {"After"},
	reflect.TypeFor[view.Shard]():           {"Owner", "Backup", "Next"},
	reflect.TypeFor[view.Halted]():          {"To"},
	reflect.TypeFor[reduce.Peer]():          {"Node"},
	reflect.TypeFor[reduce.Child]():         {"Node", "Source"},
}

func id(least int) *rapid.Generator[string] {
	return rapid.StringN(least, 20, phalanx.MaxIDBytes-1)
}

func metas() *rapid.Generator[phalanx.Meta] {
	return rapid.Custom(func(t *rapid.T) phalanx.Meta {
		m := phalanx.Meta{Size: rapid.Int64Min(phalanx.UnknownSize).Draw(t, "size"),
			DType: phalanx.DType(rapid.Uint8Max(uint8(phalanx.Uint64)).Draw(t, "dtype"))}
		if rapid.Bool().Draw(t, "array") {
			m.Shape = rapid.SliceOfN(rapid.Int64Min(0), 0, phalanx.MaxDims).Draw(t, "shape")
		}
		return m
	})
}

func change(t *rapid.T) directory.Change {
	if rapid.Bool().Draw(t, "end") {
		return directory.Change{End: true, Rebuilding: rapid.Bool().Draw(t, "rebuilding")}
	}
	return directory.Change{Record: anyOf[directory.Record]().Draw(t, "record")}
}

func bodies() []func(*rapid.T) directory.Body {
	return []func(*rapid.T) directory.Body{
		drawn[directory.Begin], drawn[directory.PutInline], drawn[directory.Final], drawn[directory.Abort],
		drawn[directory.Restart], drawn[directory.Delete], drawn[directory.Announce], drawn[directory.Locate],
		drawn[directory.Cancel], drawn[directory.Done], drawn[directory.Failed], drawn[directory.Watch],
		drawn[directory.Stat], drawn[directory.Evict], drawn[directory.Drop], drawn[directory.List],
		drawn[directory.Slow], drawn[directory.Corrupt], drawn[directory.Checked], drawn[directory.AwaitCopies],
	}
}

func drawn[T directory.Body](t *rapid.T) directory.Body { return anyOf[T]().Draw(t, "body") }

func body(t *rapid.T) directory.Body { return rapid.SampledFrom(bodies()).Draw(t, "kind of body")(t) }

func request(t *rapid.T) directory.Request {
	r := directory.Request{From: anyOf[phalanx.NodeID]().Draw(t, "from"), Num: rapid.Uint64().Draw(t, "num"), Body: body(t)}
	if _, list := r.Body.(directory.List); !list {
		r.Object = anyOf[phalanx.ObjectID]().Draw(t, "object")
	}
	return r
}

func commands() []func(*rapid.T) view.Command {
	return []func(*rapid.T) view.Command{
		commandOf[view.AddMember], commandOf[view.RemoveMember], commandOf[view.Leaving], commandOf[view.InSync], commandOf[view.Drop],
	}
}

func commandOf[T view.Command](t *rapid.T) view.Command { return anyOf[T]().Draw(t, "command") }

func command(t *rapid.T) view.Command {
	return rapid.SampledFrom(commands()).Draw(t, "kind of command")(t)
}

func aView(t *rapid.T) view.View {
	return view.View{Number: rapid.Uint64().Draw(t, "number"), Cluster: anyOf[phalanx.NodeID]().Draw(t, "cluster"),
		Members: rapid.SliceOfN(anyOf[view.Member](), 0, 5).Draw(t, "members"),
		Voters:  rapid.SliceOfN(anyOf[phalanx.NodeID](), 0, 3).Draw(t, "voters"),
		Shards:  rapid.SliceOfN(anyOf[view.Shard](), 1, 8).Draw(t, "shards"),
		Former:  phalanx.NodeID(id(0).Draw(t, "former")), Left: rapid.Uint64().Draw(t, "left"), Missing: rapid.SliceOfN(anyOf[view.Member](), 0, 3).Draw(t, "missing"),
		Firsts: rapid.SliceOfN(anyOf[view.First](), 0, 3).Draw(t, "firsts")}
}

// normal returns v with nil for every empty slice, which nothing that crosses
// tells apart from it; but the shape of an array without dimensions is no nil.
func normal(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	normalise(out)
	return out
}

func normalise(v reflect.Value) {
	switch v.Kind() {
	case reflect.Slice:
		if v.Len() == 0 && v.Type() != reflect.TypeFor[[]int64]() {
			v.SetZero()
		}
		for i := range v.Len() {
			normalise(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				normalise(v.Field(i))
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			normalise(v.Elem())
		}
	case reflect.Interface:
		if !v.IsNil() {
			v.Set(normal(v.Elem()))
		}
	}
}
