package messages

import (
	"reflect"
	"testing"

	"github.com/phalanx-go/phalanx/protocol/reduce"
)

func TestWhatIsSeenArrivesAsItWasSent(t *testing.T) {
	id, err := LookFromProto(wire(t, &LookRequest{Object: "sum"}))
	if err != nil || id != "sum" {
		t.Errorf("%q, %v", id, err)
	}
	if _, err := LookFromProto(&LookRequest{}); err == nil {
		t.Error("a look at nothing was taken")
	}
	want := Look{Held: 7, Outputs: []LookOutput{{Place: 3, Gen: reduce.PlaceGen{Attempt: 2, Seq: 9}, Made: 5}}, Degree: 2, Size: -1,
		Places: []LookPlace{{Place: 0, Parent: -1, Node: "a#1", Source: "x"},
			{Place: 3, Parent: 1, Node: "b#1", Source: "y", Gen: reduce.PlaceGen{Attempt: 1, Seq: 8}, Empty: true}}}
	got, err := LookReplyFromProto(wire(t, LookReplyToProto(want)))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v instead of %+v", got, err, want)
	}
	if _, err := LookReplyFromProto(&LookReply{Places: []*PlaceSeen{{Node: "a#1"}}}); err == nil {
		t.Error("a place without a source was taken")
	}
}
