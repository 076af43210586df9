package workflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/messages"
	flow "github.com/phalanx-go/phalanx/node/workflow"
)

// crosses checks that a value is the same after it was encoded and decoded.
func crosses[T any](t *testing.T, v T) {
	t.Helper()
	c := codecFor[T]()
	b, err := c.encode(v)
	if err != nil {
		t.Errorf("%v: %v", v, err)
		return
	}
	got, err := c.decode(b)
	if m, ok := any(v).(proto.Message); ok && err == nil && proto.Equal(m, got.(proto.Message)) {
		return
	}
	if err != nil || !reflect.DeepEqual(got, v) {
		t.Errorf("%v became %v, %v", v, got, err)
	}
}

type tree struct {
	Name string
	Of   []tree
	Next *tree
	Refs map[int]Ref `json:",omitempty"`
}

func TestCodecs(t *testing.T) {
	crosses(t, []byte("a\xff"))
	crosses(t, []float32{1, 2.5})
	crosses(t, []uint64{1 << 63})
	crosses(t, []int{1, 2})
	crosses(t, map[string]bool{"a": true})
	crosses(t, time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC))
	crosses(t, netip.MustParseAddr("::1"))
	crosses(t, "x\ufffd \\ufffd \\\\ufffd é")
	crosses(t, None{})
	crosses(t, []byte{})
	crosses(t, []int8{})
	crosses(t, struct{ time.Time }{time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)})
	crosses(t, []*big.Int{big.NewInt(7), nil})
	crosses(t, struct {
		numbered
		Of *numbered
	}{})
	crosses(t, tree{Name: "a", Of: []tree{{Name: "b"}}, Next: &tree{}, Refs: map[int]Ref{1: {"o", 1, phalanx.Digest{1}}}})
	crosses(t, &messages.Generation{Epoch: 7})
	crosses(t, Ref{"an/object", 7, phalanx.Digest{1}})
	crosses(t, []*Ref{nil, {"o", 0, phalanx.Digest{1}}})
	crosses(t, ActorRef{&actorUse{actor: flow.Actor{ActorAt: flow.ActorAt{Node: "a#1", ID: "wf/x/0", By: "wf/x/1", Version: 3}, Kind: "k@1", Name: "n", State: "wf/x/2"}}})
	crosses(t, ActorRef{})
	if b, err := codecFor[Ref]().encode(Ref{}); err != nil || string(b) != "null" {
		t.Errorf("%s, %v", b, err)
	}
	if _, err := codecFor[*messages.Generation]().encode((*messages.Generation)(nil)); err == nil {
		t.Error("a nil message was encoded: it would come back as an empty one")
	}
	if v, err := codecFor[[]byte]().decode(nil); err != nil || v.([]byte) == nil {
		t.Error("it shows whether empty bytes were read from a record or from the store")
	}
	if _, err := codecFor[[]uint32]().decode(make([]byte, 6)); err == nil {
		t.Error("6 bytes are an array of 4-byte elements")
	}
}

// Values do not share memory with the bytes that they were made of: those are the store's.
func TestDecodingCopies(t *testing.T) {
	for _, c := range []codec{codecFor[[]byte](), codecFor[[]int8](), codecFor[string](), codecFor[json.RawMessage]()} {
		b := []byte(`"abc"`)
		v, err := c.decode(b)
		before := fmt.Sprint(v)
		clear(b)
		if err != nil || fmt.Sprint(v) != before {
			t.Errorf("%v: %v, %v", c.typ, v, err)
		}
	}
}

// The JSON encoder replaces what is not UTF-8 in silence; the codec refuses it.
func TestTextThatIsNotUTF8(t *testing.T) {
	for _, v := range []any{"\xff", map[string]int{"a\xff": 1}, []string{"ok", "\\\xff"}, tree{Name: "\xc3"}, json.RawMessage("\"\xff\"")} {
		if _, err := mustCodec(reflect.TypeOf(v)).encode(v); !errors.Is(err, ErrNotUTF8) {
			t.Errorf("%q: %v", v, err)
		}
	}
	for _, v := range []string{`\ufffd`, `\\ufffd`, "\ufffd", "\\\ufffd", `"\ufffd`} {
		crosses(t, v)
	}
}

type sealed struct{ r Ref }

func (s sealed) MarshalJSON() ([]byte, error)  { return json.Marshal(s.r) }
func (s *sealed) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &s.r) }

// Types of which encoding/json leaves something away without an error, or which it cannot make.
type (
	redacted string
	stamped  struct {
		time.Time
		Name string
	}
	stampedTwice struct {
		time.Time
		netip.Addr
	}
	count  int
	hiding struct {
		count
		Name string
	}
	pointing  struct{ *inner }
	shadowing struct {
		numbered
		ID string
	}
	numbered struct{ ID int }
	twins    struct {
		In Ref `json:"in"`
		renamed
	}
	renamed struct {
		Other int `json:"in"`
	}
	numbers struct {
		First  *big.Int // is carried
		Number big.Int
	}
)

func (redacted) MarshalJSON() ([]byte, error) { return []byte(`"***"`), nil }

func TestTypesThatAreRefused(t *testing.T) {
	for want, typ := range map[string]reflect.Type{
		"nobody finds its workflow.Ref": reflect.TypeFor[[]sealed](),
		"interface does not say":        reflect.TypeFor[Outcome[int]](), // an argument only
		"as a pointer only":             reflect.TypeFor[big.Int](),
		"one way only":                  reflect.TypeFor[map[string]redacted](),
		"embedded Time can stand for":   reflect.TypeFor[stamped](),
		"form of its embedded Addr":     reflect.TypeFor[stampedTwice](),
		"field count is not exported":   reflect.TypeOf(hiding{count: 1}),
		"field inner is not exported":   reflect.TypeFor[pointing](),
		`calls two of its fields "ID"`:  reflect.TypeFor[shadowing](),
		`calls two of its fields "in"`:  reflect.TypeFor[[]twins](),
		"field Number: big.Int has":     reflect.TypeFor[numbers](),
	} {
		if _, why := codecOf(typ); !strings.Contains(why, want) {
			t.Errorf("%v: %q", typ, why)
		}
	}
	if _, why := readerOf(reflect.TypeFor[[][]Outcome[int]]()); why != "" {
		t.Error(why)
	}
	if _, why := readerOf(reflect.TypeFor[Outcome[chan int]]()); why == "" {
		t.Error("an outcome of a channel is read")
	}
}

type box struct {
	One  Ref
	Self *box
	Many []map[string][2]Ref
	Not  Ref `json:"-"`
	inner
}
type inner struct{ In Ref }

func TestFindingRefs(t *testing.T) {
	r := func(id string) Ref { return Ref{id: phalanx.ObjectID(id)} }
	v := box{One: r("a"), Self: &box{One: r("b")}, Many: []map[string][2]Ref{{"k": {r("c"), r("d")}}}, Not: r("x"), inner: inner{r("e")}}
	var found []string
	err := codecFor[box]().finds.find(v, func(r Ref) error {
		if !r.IsZero() {
			found = append(found, string(r.ID()))
		}
		return nil
	})
	if err != nil || strings.Join(found, "") != "abcde" && strings.Join(found, "") != "abecd" {
		t.Errorf("%q, %v", found, err)
	}
	if codecFor[map[string][]time.Time]().finds != nil {
		t.Error("times have Refs")
	}
	if err := codecFor[[]Ref]().finds.find(make([]Ref, maxRefs), func(Ref) error { return nil }); err != nil {
		t.Error(err)
	}
	if err := codecFor[[]Ref]().finds.find(make([]Ref, maxRefs+1), func(Ref) error { return nil }); err == nil {
		t.Error("more Refs than are allowed")
	}
}

func FuzzRef(f *testing.F) {
	f.Add([]byte(`{"ref":"a","size":1,"digest":"00000000000000000000000000000001"}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var r Ref
		if r.UnmarshalJSON(b) != nil {
			return
		}
		form, err := r.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var again Ref
		if err := again.UnmarshalJSON(form); err != nil || again != r {
			t.Fatalf("%+v became %+v, %v", r, again, err)
		}
	})
}
