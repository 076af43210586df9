package messages

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/join"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// wire returns m as another node gets it.
func wire[M proto.Message](t testing.TB, m M) M {
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatalf("%T: %v", m, err)
	}
	out := m.ProtoReflect().New().Interface()
	if err := proto.Unmarshal(b, out); err != nil {
		t.Fatalf("%T: %v", m, err)
	}
	return out.(M)
}

// agrees checks that every effect of type E becomes the event that event makes
// of it.
func agrees[E view.Effect](t *testing.T, event func(from phalanx.NodeID, e E, now time.Duration) (phalanx.NodeID, view.Event)) {
	t.Run(reflect.TypeFor[E]().Name(), func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			from, e := anyOf[phalanx.NodeID]().Draw(rt, "from"), anyOf[E]().Draw(rt, "effect")
			now := anyOf[time.Duration]().Draw(rt, "now")
			to, m := AgreeToProto(from, e)
			got, err := AgreeFromProto(wire(t, m), now)
			wantTo, want := event(from, e, now)
			if err != nil || to != wantTo || !reflect.DeepEqual(got, want) {
				rt.Fatalf("%v\n got %+v for %s\nwant %+v for %s", err, got, to, want, wantTo)
			}
		})
	})
}

func TestAgreeCrosses(t *testing.T) {
	agrees(t, func(from phalanx.NodeID, e view.Send, now time.Duration) (phalanx.NodeID, view.Event) {
		return e.To, view.Receive{From: from, Data: e.Data, Now: now}
	})
	agrees(t, func(from phalanx.NodeID, e view.Push, now time.Duration) (phalanx.NodeID, view.Event) {
		return e.To, view.Learn{From: from, Term: e.Term, View: e.View, Now: now}
	})
	agrees(t, func(from phalanx.NodeID, e view.SendBeat, now time.Duration) (phalanx.NodeID, view.Event) {
		return e.To, view.HearBeat{From: from, Beat: e.Beat, Now: now}
	})
	agrees(t, func(from phalanx.NodeID, e view.SendReply, now time.Duration) (phalanx.NodeID, view.Event) {
		return e.To, view.HearReply{From: from, Reply: e.Reply, Now: now}
	})
	agrees(t, func(from phalanx.NodeID, e view.SendHalt, now time.Duration) (phalanx.NodeID, view.Event) {
		return e.To, view.HearHalt{From: from, Halt: e.Halt, Now: now}
	})
	agrees(t, func(from phalanx.NodeID, e view.SendHalted, now time.Duration) (phalanx.NodeID, view.Event) {
		return e.To, view.HearHalted{From: from, Halted: e.Halted, Now: now}
	})
	agrees(t, func(from phalanx.NodeID, e view.Forward, now time.Duration) (phalanx.NodeID, view.Event) {
		return e.To, view.Propose{From: from, Relayed: e.Relayed, Command: e.Command, Now: now}
	})
}

// carries checks that what an effect of type E becomes can be brought by another
// member, to whom and as what it would have been sent.
func carries[E view.Effect](t *testing.T) {
	t.Run(reflect.TypeFor[E]().Name(), func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			from, e := anyOf[phalanx.NodeID]().Draw(rt, "from"), anyOf[E]().Draw(rt, "effect")
			to, m := AgreeToProto(from, e)
			gotTo, by, got, err := CarriedFromProto(wire(t, CarriedToProto(to, m)))
			if err != nil || gotTo != to || by != "" || !proto.Equal(got, m) {
				rt.Fatalf("%v\n got %v for %s by %q\nwant %v for %s", err, got, gotTo, by, m, to)
			}
		})
	})
}

func TestWhatIsSentIsCarried(t *testing.T) {
	carries[view.Send](t)
	carries[view.Push](t)
	carries[view.SendBeat](t)
	carries[view.SendReply](t)
	carries[view.Forward](t)
	carries[view.SendHalt](t)
	carries[view.SendHalted](t)
	for _, m := range []proto.Message{&Carried{To: "a#1"}, &JoinRequest{}, nil} {
		if _, _, _, err := CarriedFromProto(wire(t, CarriedToProto("b#1", m))); err == nil {
			t.Errorf("a %T is carried", m)
		}
	}
}

func TestLocalEffectsAreNotSent(t *testing.T) {
	for _, e := range []view.Effect{view.Publish{}, view.Lease{}, view.Lead{}, view.Fenced{}, view.Settled{}, view.GaveUp{}, view.Reject{}, view.Formed{}, view.NotFormed{}} {
		if to, m := AgreeToProto("a#1", e); to != "" || m != nil {
			t.Errorf("%T goes to %q as %v", e, to, m)
		}
	}
}

func TestEveryCommandCrosses(t *testing.T) {
	for _, draw := range commands() {
		rapid.Check(t, func(rt *rapid.T) {
			in := draw(rt)
			out, err := CommandFromProto(wire(t, CommandToProto(in)))
			if err != nil || !reflect.DeepEqual(out, in) {
				rt.Fatalf("%v\n in %+v\nout %+v", err, in, out)
			}
		})
	}
}

func TestJoinCrosses(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		member := anyOf[view.Member]().Draw(rt, "member")
		common, by := anyOf[view.Common]().Draw(rt, "common"), join.Answer{From: member.ID, Cluster: anyOf[view.View]().Draw(rt, "of").Cluster, Ready: rapid.Bool().Draw(rt, "ready")}
		asked, in, says, err := JoinRequestFromProto(wire(t, JoinRequestToProto(member, common, by)))
		if err != nil || !reflect.DeepEqual(asked, member) || in != common || says != by {
			rt.Fatalf("%v\n in %+v, %+v, %+v\nout %+v, %+v, %+v", err, member, common, by, asked, in, says)
		}
		v := anyOf[view.View]().Draw(rt, "view")
		says = anyOf[join.Answer]().Draw(rt, "answer")
		switch says.Cluster = v.Cluster; rapid.IntRange(0, 2).Draw(rt, "what") {
		case 1: // it waits
			says.Cluster, v = "", view.View{}
		case 2: // the other one is a member
			v = view.View{}
		}
		a, got, err := JoinReplyFromProto(wire(t, JoinReplyToProto(says, v, nil)))
		if err != nil || a != says || !reflect.DeepEqual(got, v) {
			rt.Fatalf("%v\n in %+v, %+v\nout %+v, %+v", err, says, v, a, got)
		}
	})
	refused := &phalanx.Error{Op: "join", Node: "a#1", Kind: phalanx.ErrRefused}
	if _, _, err := JoinReplyFromProto(wire(t, JoinReplyToProto(join.Answer{From: "a#1"}, view.View{}, refused))); !reflect.DeepEqual(err, error(refused)) {
		t.Errorf("the error became %v", err)
	}
}

func TestViewRefusesWhatItGets(t *testing.T) {
	long := strings.Repeat("x", phalanx.MaxIDBytes+1)
	ok := func() *View { return &View{Cluster: "a#1", Shards: []*Shard{{}}} }
	with := func(change func(*View)) error {
		v := ok()
		change(v)
		_, err := ViewFromProto(v)
		return err
	}
	if err := with(func(*View) {}); err != nil {
		t.Fatal(err)
	}
	command := func(m isViewCommand_Command) error {
		_, err := CommandFromProto(&ViewCommand{Command: m})
		return err
	}
	event := func(m proto.Message) error {
		_, err := AgreeFromProto(m, 0)
		return err
	}
	brought := func(m *Carried) error {
		_, _, _, err := CarriedFromProto(m)
		return err
	}
	for _, c := range []struct {
		field string
		err   error
	}{
		{"view.shards", with(func(v *View) { v.Shards = nil })},
		{"view.cluster", with(func(v *View) { v.Cluster = "" })},
		{"view.voters", with(func(v *View) { v.Voters = []string{""} })},
		{"view.member.id", with(func(v *View) { v.Members = []*Member{{}} })},
		{"view.member.id", with(func(v *View) { v.Members = []*Member{{Id: "#1"}} })},
		{"view.member.id", with(func(v *View) { v.Members = []*Member{{Id: long}} })},
		{"shard.owner", with(func(v *View) { v.Shards[0].Owner = long })},
		{"shard.backup", with(func(v *View) { v.Shards[0].Backup = long })},
		{"shard.next", with(func(v *View) { v.Shards[0].Next = long })},
		{"command", command(nil)},
		{"add_member.member.id", command(&ViewCommand_AddMember{})},
		{"remove_member.node", command(&ViewCommand_RemoveMember{&RemoveMember{}})},
		{"leaving.node", command(&ViewCommand_Leaving{&LeavingMember{}})},
		{"in_sync.node", command(&ViewCommand_InSync{&InSync{Shards: []*Synced{{}}}})},
		{"in_sync.shard", command(&ViewCommand_InSync{&InSync{Shards: []*Synced{{Node: "a#1", Shard: math.MaxUint32}}}})},
		{"drop.node", command(&ViewCommand_Drop{&DropReplica{}})},
		{"drop.shard", command(&ViewCommand_Drop{&DropReplica{Node: "a#1", Shard: math.MaxUint32}})},
		{"raft.from", event(&Raft{})},
		{"push_view.from", event(&PushView{View: ok()})},
		{"view.shards", event(&PushView{From: "a#1"})},
		{"beat.from", event(&Beat{})},
		{"beat_reply.from", event(&BeatReply{})},
		{"forward.from", event(&Forward{})},
		{"command", event(&Forward{From: "a#1"})},
		{"message", event(&JoinRequest{})},
		{"message", event(&Carried{To: "a#1", Message: &Carried_Beat{&Beat{From: "a#1"}}})},
		{"carried.to", brought(&Carried{Message: &Carried_Beat{&Beat{From: "a#1"}}})},
		{"carried.message", brought(&Carried{To: "a#1"})},
		{"beat.from", brought(&Carried{To: "a#1", Message: &Carried_Beat{&Beat{}}})},
		{"beat_reply.from", brought(&Carried{To: "a#1", Message: &Carried_Reply{&BeatReply{From: long}}})},
		{"message", event(nil)},
	} {
		if !errors.Is(c.err, phalanx.ErrInternal) || !strings.Contains(c.err.Error(), " "+c.field+":") {
			t.Errorf("%s: %v", c.field, c.err)
		}
	}
}
