package messages

import (
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	node "github.com/phalanx-go/phalanx/node/workflow"
)

func TestBundle(t *testing.T) {
	one := anyOf[node.Ref]()
	rapid.Check(t, func(t *rapid.T) {
		output, refs := rapid.SliceOfN(rapid.Byte(), 1, 100).Draw(t, "output"), rapid.SliceOfN(one, 1, 5).Draw(t, "refs")
		for i := range refs {
			refs[i].Meta.Size = max(refs[i].Meta.Size, 0)
		}
		b, err := MarshalBundle(output, refs)
		if err != nil {
			t.Fatal(err)
		}
		gotOutput, gotRefs, err := UnmarshalBundle(b)
		if err != nil || !reflect.DeepEqual(gotOutput, output) || !reflect.DeepEqual(gotRefs, refs) {
			t.Fatalf("%v %v, %v instead of %v %v", gotOutput, gotRefs, err, output, refs)
		}
	})
}

func TestBrokenBundle(t *testing.T) {
	good := &WorkflowRef{Object: "x", Digest: make([]byte, 16)}
	for name, m := range map[string]*WorkflowBundle{
		"no object":       {Refs: []*WorkflowRef{{}}},
		"a long digest":   {Refs: []*WorkflowRef{{Object: "x", Digest: make([]byte, 17)}}},
		"an unknown size": {Refs: []*WorkflowRef{{Object: "x", Meta: &Meta{Size: -1}}}},
		"too many":        {Refs: make([]*WorkflowRef, node.MostRefs+1)},
	} {
		for i := range m.Refs {
			if m.Refs[i] == nil {
				m.Refs[i] = good
			}
		}
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := UnmarshalBundle(b); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, _, err := UnmarshalBundle([]byte{0xff}); err == nil {
		t.Error("no bundle: no error")
	}
}
