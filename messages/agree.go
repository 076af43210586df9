package messages

import (
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// AgreeToProto returns the message that an effect of from's view core sends, and its
// receiver: a Raft, PushView, Beat, BeatReply, Halt, Halted or Forward. It returns no message
// for effects that are carried out locally.
func AgreeToProto(from phalanx.NodeID, e view.Effect) (to phalanx.NodeID, m proto.Message) {
	switch e := e.(type) {
	case view.Send:
		return e.To, &Raft{From: string(from), Data: e.Data}
	case view.Push:
		return e.To, &PushView{From: string(from), Term: e.Term, View: ViewToProto(e.View)}
	case view.SendBeat:
		return e.To, &Beat{From: string(from), View: e.Beat.View, Stamp: int64(e.Beat.Stamp), Idle: e.Beat.Idle}
	case view.SendReply:
		return e.To, &BeatReply{From: string(from), Term: e.Reply.Term, View: e.Reply.View, Stamp: int64(e.Reply.Stamp),
			Valid: int64(e.Reply.Valid)}
	case view.SendHalt:
		return e.To, &Halt{From: string(from), Form: uint32(e.Halt.Form), Stamp: int64(e.Halt.Stamp), View: e.Halt.View, Release: e.Halt.Release}
	case view.SendHalted:
		h := e.Halted
		m := &Halted{From: string(from), Form: uint32(h.Form), Stamp: int64(h.Stamp), Why: uint32(h.Why), Promised: uint32(h.Promised),
			To: string(h.To), Term: h.Term, Gone: fromStrings(h.Gone)}
		if len(h.View.Shards) > 0 {
			m.View = ViewToProto(h.View)
		}
		return e.To, m
	case view.Forward:
		return e.To, &Forward{From: string(from), Relayed: e.Relayed, Command: CommandToProto(e.Command)}
	}
	return "", nil
}

// CarriedToProto has another member bring m, a message of AgreeToProto, to a node.
func CarriedToProto(to phalanx.NodeID, m proto.Message) *Carried {
	c := &Carried{To: string(to)}
	switch m := m.(type) {
	case *Beat:
		c.Message = &Carried_Beat{m}
	case *BeatReply:
		c.Message = &Carried_Reply{m}
	case *Raft:
		c.Message = &Carried_Raft{m}
	case *PushView:
		c.Message = &Carried_View{m}
	case *Forward:
		c.Message = &Carried_Forward{m}
	case *Halt:
		c.Message = &Carried_Halt{m}
	case *Halted:
		c.Message = &Carried_Halted{m}
	}
	return c
}

// CarriedFromProto returns the receiver of a message, the node that has relayed it, if one
// has already, and the message.
func CarriedFromProto(c *Carried) (to, by phalanx.NodeID, m proto.Message, err error) {
	f := &fields{}
	to, by = f.node("carried.to", c.GetTo()), f.maybeNode("carried.by", c.GetBy())
	switch c := c.GetMessage().(type) {
	case *Carried_Beat:
		m = c.Beat
	case *Carried_Reply:
		m = c.Reply
	case *Carried_Raft:
		m = c.Raft
	case *Carried_View:
		m = c.View
	case *Carried_Forward:
		m = c.Forward
	case *Carried_Halt:
		m = c.Halt
	case *Carried_Halted:
		m = c.Halted
	default:
		f.missing("carried.message")
	}
	if f.err == nil {
		f.agree(m, 0)
	}
	return to, by, m, f.err
}

// AgreeFromProto returns a message of AgreeToProto as an event of the core that gets
// it.
func AgreeFromProto(m proto.Message, now time.Duration) (view.Event, error) {
	f := &fields{}
	e := f.agree(m, now)
	if f.err != nil {
		return nil, f.err
	}
	return e, nil
}

func (f *fields) agree(m proto.Message, now time.Duration) view.Event {
	switch m := m.(type) {
	case *Raft:
		return view.Receive{From: f.node("raft.from", m.GetFrom()), Data: m.GetData(), Now: now}
	case *PushView:
		return view.Learn{From: f.node("push_view.from", m.GetFrom()), Term: m.GetTerm(), View: f.view(m.GetView()), Now: now}
	case *Beat:
		return view.HearBeat{From: f.node("beat.from", m.GetFrom()), Now: now,
			Beat: view.Beat{View: m.GetView(), Stamp: time.Duration(m.GetStamp()), Idle: m.GetIdle()}}
	case *BeatReply:
		return view.HearReply{From: f.node("beat_reply.from", m.GetFrom()), Now: now, Reply: view.Reply{Term: m.GetTerm(),
			View: m.GetView(), Stamp: time.Duration(m.GetStamp()), Valid: time.Duration(m.GetValid())}}
	case *Halt:
		return view.HearHalt{From: f.node("halt.from", m.GetFrom()), Now: now,
			Halt: view.Halt{Form: view.Form(m.GetForm()), Stamp: time.Duration(m.GetStamp()), View: m.GetView(), Release: m.GetRelease()}}
	case *Halted:
		if m.GetWhy() > uint32(view.MaxHaltRefusal) {
			f.bad("halted.why", "there is no reason %d", m.GetWhy())
		}
		h := view.HearHalted{From: f.node("halted.from", m.GetFrom()), Now: now, Halted: view.Halted{Form: view.Form(m.GetForm()),
			Stamp: time.Duration(m.GetStamp()), Why: view.HaltRefusal(m.GetWhy()), Promised: view.Form(m.GetPromised()),
			To: f.maybeNode("halted.to", m.GetTo()), Term: m.GetTerm(), Gone: f.nodes("halted.gone", m.GetGone())}}
		if m.GetView() != nil {
			h.Halted.View = f.view(m.GetView())
		}
		return h
	case *Forward:
		return view.Propose{From: f.node("forward.from", m.GetFrom()), Relayed: m.GetRelayed(),
			Command: f.command(m.GetCommand()), Now: now}
	}
	f.bad("message", "a %T is none of the view", m)
	return nil
}
