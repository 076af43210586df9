package messages

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

func TestPrefetchCrosses(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		in := Prefetch{Objects: rapid.SliceOfN(anyOf[phalanx.ObjectID](), 1, 5).Draw(rt, "objects"),
			Timeout: time.Duration(rapid.Int64Min(1).Draw(rt, "timeout"))}
		if out, err := PrefetchFromProto(wire(t, PrefetchToProto(in))); err != nil || !reflect.DeepEqual(out, in) {
			rt.Fatalf("%v\n in %+v\nout %+v", err, in, out)
		}
	})
	failed := []*phalanx.Error{
		{Op: "prefetch", Object: "a", Kind: phalanx.ErrDeadline, Err: errors.New("nobody has announced it")},
		{Op: "prefetch", Object: "b", Node: "n#1", Kind: phalanx.ErrNoSpace},
	}
	if got := PrefetchReplyFromProto(wire(t, PrefetchReplyToProto(failed))); !reflect.DeepEqual(got, failed) {
		t.Errorf("%v became %v", failed, got)
	}
	if got := PrefetchReplyFromProto(wire(t, PrefetchReplyToProto(nil))); got != nil {
		t.Errorf("no error became %v", got)
	}
}

func TestStoreRefusesWhatItGets(t *testing.T) {
	_, noObjects := PrefetchFromProto(&PrefetchRequest{Timeout: 1})
	_, noID := PrefetchFromProto(&PrefetchRequest{Objects: []string{""}, Timeout: 1})
	_, noTimeout := PrefetchFromProto(&PrefetchRequest{Objects: []string{"o"}})
	for _, c := range []struct {
		field string
		err   error
	}{
		{"prefetch.objects", noObjects}, {"prefetch.objects", noID}, {"prefetch.timeout", noTimeout},
	} {
		if !errors.Is(c.err, phalanx.ErrInternal) || !strings.Contains(c.err.Error(), " "+c.field+":") {
			t.Errorf("%s: %v", c.field, c.err)
		}
	}
}

func TestErrorsCross(t *testing.T) {
	full := &phalanx.Error{Op: "get", Object: "o", Node: "n#1", Kind: phalanx.ErrLost, Err: errors.New("why")}
	for _, c := range []struct {
		in   error
		want error
	}{
		{nil, nil},
		{full, full},
		{fmt.Errorf("around: %w", full), full},
		{phalanx.ErrFenced, &phalanx.Error{Kind: phalanx.ErrFenced}},
		{context.Canceled, &phalanx.Error{Kind: phalanx.ErrCanceled, Err: errors.New("context canceled")}},
		{context.DeadlineExceeded, &phalanx.Error{Kind: phalanx.ErrDeadline, Err: errors.New("context deadline exceeded")}},
		{errors.New("no \xff idea"), &phalanx.Error{Kind: phalanx.ErrInternal, Err: errors.New("no \uFFFD idea")}},
	} {
		m := ErrorToProto(c.in)
		if m != nil {
			m = wire(t, m)
		}
		if got := ErrorFromProto(m); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v became %#v", c.in, got)
		}
	}
	for _, k := range []Kind{0, -1, Kind(phalanx.ErrUnknown) + 1} {
		if err := ErrorFromProto(&Error{Kind: k}); !errors.Is(err, phalanx.ErrInternal) {
			t.Errorf("kind %d became %v", k, err)
		}
	}
}

// The values of the schema's enumerations are those of the Go types.
func TestEnumsAreTheCores(t *testing.T) {
	kinds := []string{"none"}
	for _, k := range phalanx.Kinds() {
		kinds = append(kinds, k.Error())
	}
	for _, c := range []struct {
		enum   protoreflect.EnumDescriptor
		prefix string
		want   []string
	}{
		{Kind(0).Descriptor(), "KIND_", kinds},
		{DType(0).Descriptor(), "DTYPE_", names(phalanx.Uint64)},
		{ObjectState(0).Descriptor(), "OBJECT_STATE_", names(directory.Deleted)},
		{PushOrder(0).Descriptor(), "PUSH_ORDER_", names(directory.PushSpare)},
		{LossReason(0).Descriptor(), "LOSS_REASON_", append([]string{"none"}, names(reduce.LostUnheld)[1:]...)},
		{Maker(0).Descriptor(), "MAKER_", []string{"put", "reduce"}},
	} {
		var got []string
		for i := range c.enum.Values().Len() {
			v := c.enum.Values().Get(i)
			if int(v.Number()) != i {
				t.Errorf("%s is %d", v.Name(), v.Number())
			}
			got = append(got, strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(string(v.Name()), c.prefix)), "_", " "))
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s\n has %q\nwant %q", c.enum.Name(), got, c.want)
		}
	}
	if got := (phalanx.ErrUnknown + 1).Error(); !strings.HasPrefix(got, "error kind ") {
		t.Errorf("there is a kind after the last: %s", got)
	}
}

// names returns the names of the values up to last, which must be the last one.
func names[T interface {
	~uint8
	fmt.Stringer
}](last T) []string {
	var all []string
	for v := T(0); v <= last; v++ {
		all = append(all, v.String())
	}
	return all
}
