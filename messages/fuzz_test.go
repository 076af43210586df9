package messages

import (
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/reduce"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// decoders decode what remoting delivers, by the message that it is.
var decoders = []struct {
	message proto.Message
	decode  func(proto.Message) error
}{
	{&PlaceOrder{}, func(m proto.Message) error {
		_, e, err := OrderFromProto(m.(*PlaceOrder))
		if err == nil {
			OrderToProto("a#1", e)
		}
		return err
	}},
	{&PlaceReport{}, func(m proto.Message) error {
		r, err := ReportFromProto(m.(*PlaceReport))
		if err == nil {
			ReportToProto(r) // panics on what no place reports
		}
		return err
	}},
	{&PrefetchRequest{}, func(m proto.Message) error {
		_, err := PrefetchFromProto(m.(*PrefetchRequest))
		return err
	}},
	{&JoinRequest{}, func(m proto.Message) error {
		_, err := MemberFromProto(m.(*JoinRequest).GetMember())
		return err
	}},
	{&View{}, func(m proto.Message) error {
		_, err := ViewFromProto(m.(*View))
		return err
	}},
	{&Carried{}, func(m proto.Message) error {
		_, _, _, err := CarriedFromProto(m.(*Carried))
		return err
	}},
	{&BarrierLetter{}, func(m proto.Message) error {
		_, _, _, err := BarrierFromProto(m.(*BarrierLetter))
		return err
	}},
	{&BarrierLooked{}, func(m proto.Message) error {
		_, err := BarriersSeenFromProto(m.(*BarrierLooked))
		return err
	}},
	{&GroupLetter{}, func(m proto.Message) error {
		_, _, _, err := GroupFromProto(m.(*GroupLetter))
		return err
	}},
	{&GroupLooked{}, func(m proto.Message) error {
		_, _, err := GroupsSeenFromProto(m.(*GroupLooked))
		return err
	}},
	{&Raft{}, agreed}, {&PushView{}, agreed}, {&Beat{}, agreed}, {&BeatReply{}, agreed}, {&Forward{}, agreed},
}

func agreed(m proto.Message) error {
	_, err := AgreeFromProto(m, 0)
	return err
}

// FuzzRemoting checks that no bytes make the conversion of a message panic,
// and that whatever is refused is refused with ErrInternal.
func FuzzRemoting(f *testing.F) {
	_, command := OrderToProto("a#1", reduce.Command{Node: "b#1", State: reduce.State{Target: "t", Source: "s", Op: phalanx.Sum,
		Parent: reduce.Peer{Place: 1, Node: "c#1"}, Children: []reduce.Child{{Order: 2, Place: 4}}}})
	_, push := AgreeToProto("a#1", view.Push{To: "b#1", View: view.View{Cluster: "a#1", Members: []view.Member{{ID: "a#1"}},
		Shards: []view.Shard{{Owner: "a#1"}}}})
	_, forward := AgreeToProto("a#1", view.Forward{To: "b#1", Command: view.InSync{Shards: []view.Synced{{Shard: 1, Node: "a#1"}}}})
	for _, m := range []proto.Message{command, push, forward,
		ReportToProto(Report{Target: "t", Node: "a#1", Event: reduce.Inspected{Places: []reduce.Held{{}}}}),
		PrefetchToProto(Prefetch{Objects: []phalanx.ObjectID{"o"}, Timeout: 1}),
		BarrierToProto("a#1", "b#1", letters[11]),
		GroupToProto("a#1", "b#1", groupLetters[0]),
		GroupToProto("a#1", "b#1", groupLetters[9]),
	} {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		for i := range decoders {
			f.Add(uint8(i), b)
		}
	}
	f.Fuzz(func(t *testing.T, i uint8, b []byte) {
		d := decoders[int(i)%len(decoders)]
		m := d.message.ProtoReflect().New().Interface()
		if proto.Unmarshal(b, m) != nil {
			return // remoting refuses it before
		}
		if err := d.decode(m); err != nil && !errors.Is(err, phalanx.ErrInternal) {
			t.Fatalf("%T: %v", m, err)
		}
	})
}
