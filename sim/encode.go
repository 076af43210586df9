package sim

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/wire"
	"github.com/phalanx-go/phalanx/messages"
	"github.com/phalanx-go/phalanx/protocol/detect"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// Simulated nodes exchange the same bytes as real ones, with the same limit on a message. A node
// hands itself a message unencoded.

// bare reports whether the messages that keep the cluster together go unencoded: they are most of a run without callers
// of the store, and one such run of eight, and all others, look at their form.
func (w *world) bare() bool { return w.alone && w.seed%8 != 0 }

// encode returns a function that decodes m anew at each call, as the receiver would.
func (w *world) encode(from, to phalanx.NodeID, m any) (decode func() any) {
	sent, err := w.encoded(from, to, m)
	if err == nil && sent.bytes == nil {
		return func() any { return m }
	}
	most := wire.MaxControl
	if sent.shard >= 0 {
		most = wire.MaxMessage
	}
	if err == nil && len(sent.bytes) > most {
		err = fmt.Errorf("it has %d bytes, at most %d can be sent", len(sent.bytes), most)
	}
	if err != nil {
		w.fail("%s cannot send a %T to %s: %v", from, m, to, err)
		return func() any { return m }
	}
	return func() any {
		got, err := sent.decode(sent.bytes)
		if err != nil {
			w.fail("%s cannot read a %T of %s: %v", to, m, from, err)
			return m
		}
		return got
	}
}

// encoded is a message on its way.
type encoded struct {
	bytes  []byte // nil: the message goes unencoded
	shard  int    // the shard of a message on data connections; -1: a message between actors
	decode func([]byte) (any, error)
}

func (w *world) encoded(from, to phalanx.NodeID, m any) (encoded, error) {
	switch m := m.(type) {
	case carried:
		if w.bare() && effect(m.to, m.message) != nil {
			return encoded{}, nil
		}
		return m.encode(w, from)
	case joinReply, joinAsk:
		if w.bare() {
			return encoded{}, nil
		}
	}
	switch m := m.(type) {
	case toShard:
		return aboutShard(m.shard, m.ev, func(v any) any { return toShard{m.shard, v.(directory.Event)} })
	case toClient:
		return aboutShard(0, m.Reply, func(v any) any { return toClient{v.(directory.Reply)} })
	case toHolder:
		return aboutShard(m.shard, m.Push, func(v any) any { return toHolder{m.shard, v.(directory.Push)} })
	case toWatcher:
		return aboutShard(m.shard, m.Readiness, func(v any) any { return toWatcher{m.shard, v.(directory.Readiness)} })
	case ackHoldings:
		return aboutShard(m.shard, directory.AckHoldings{To: to, Epoch: m.epoch}, func(v any) any { return ackHoldings{m.shard, v.(directory.AckHoldings).Epoch} })
	case askLease:
		return aboutShard(m.shard, directory.AskLease{To: to, Object: m.object, Lease: m.lease, Move: m.move}, func(v any) any {
			a := v.(directory.AskLease)
			return askLease{m.shard, a.Object, a.Lease, a.Move}
		})
	case letter:
		return w.services[m.service].encode(from, to, m)
	case toView, pushView, beat, reply, halt, halted, forward:
		if w.alone { // other runs look at messages of the view
			return encoded{}, nil
		}
		_, p := messages.AgreeToProto(from, effect(to, m))
		return toActor(p, func(p proto.Message) (any, error) { return agreement(p) })
	case joinReply:
		return toActor(messages.JoinReplyToProto(m.says, m.view, nil), func(p *messages.JoinReply) (any, error) {
			says, v, err := messages.JoinReplyFromProto(p)
			return joinReply{m.num, says, v}, err
		})
	case joinAsk:
		return toActor(messages.JoinRequestToProto(w.byID[from].asMember(), view.Common{}, m.says), func(p *messages.JoinRequest) (any, error) {
			_, _, says, err := messages.JoinRequestFromProto(p)
			return joinAsk{m.num, says}, err
		})
	case accusation:
		return toActor(messages.SuspicionToProto(from, detect.Accuse{To: to, Node: m.node, Cause: m.cause, Told: m.told}), func(p *messages.Suspicion) (any, error) {
			a, err := messages.SuspicionFromProto(p, 0)
			return accusation{a.Node, a.Cause, a.Told}, err
		})
	case order:
		_, p := messages.OrderToProto(from, m.Effect)
		return toActor(p, func(p *messages.PlaceOrder) (any, error) {
			_, e, err := messages.OrderFromProto(p)
			return order{m.by, e}, err
		})
	case report:
		r := messages.Report{Target: m.from.Target, Reduce: m.from.Reduce, Node: from, Event: m.event}
		return toActor(messages.ReportToProto(r), func(p *messages.PlaceReport) (any, error) {
			r, err := messages.ReportFromProto(p)
			return report{m.from, r.Event}, err
		})
	case watchPlace, placeEnded, watchCoordinator, coordinatorEnded: // of the actor system
		return encoded{}, nil
	}
	return encoded{}, fmt.Errorf("encode does not know it")
}

// aboutShard encodes a message on data connections.
func aboutShard(shard int, v any, of func(any) any) (encoded, error) {
	b, err := messages.MarshalDirectory(shard, v)
	return encoded{b, shard, func(b []byte) (any, error) {
		got, v, err := messages.UnmarshalDirectory(b)
		if err != nil || got != shard {
			return nil, fmt.Errorf("it is about shard %d, not %d: %w", got, shard, err)
		}
		return of(v), nil
	}}, err
}

// effect returns the effect with which a view's core sends m to a node, or nil.
func effect(to phalanx.NodeID, m any) view.Effect {
	switch m := m.(type) {
	case toView:
		return view.Send{To: to, Data: m.data}
	case pushView:
		return view.Push{To: to, Term: m.term, View: m.view}
	case beat:
		return view.SendBeat{To: to, Beat: m.Beat}
	case reply:
		return view.SendReply{To: to, Reply: m.Reply}
	case halt:
		return view.SendHalt{To: to, Halt: m.Halt}
	case halted:
		return view.SendHalted{To: to, Halted: m.Halted}
	case forward:
		return view.Forward{To: to, Relayed: m.relayed, Command: m.cmd}
	}
	return nil
}

// agreement returns the message about the view that p encodes.
func agreement(p proto.Message) (any, error) {
	ev, err := messages.AgreeFromProto(p, 0)
	switch ev := ev.(type) {
	case view.Receive:
		return toView{ev.Data}, err
	case view.Learn:
		return pushView{ev.Term, ev.View}, err
	case view.HearBeat:
		return beat{ev.Beat}, err
	case view.HearReply:
		return reply{ev.Reply}, err
	case view.HearHalt:
		return halt{ev.Halt}, err
	case view.HearHalted:
		return halted{ev.Halted}, err
	case view.Propose:
		return forward{ev.Relayed, ev.Command}, err
	}
	return nil, err
}

// encode encodes c as from sends it: to the member that brings it, or to its receiver.
func (c carried) encode(w *world, from phalanx.NodeID) (encoded, error) {
	if e := effect(c.to, c.message); e != nil {
		p := messages.CarriedToProto(messages.AgreeToProto(c.from, e))
		if c.brought {
			p.By = string(from)
		}
		return toActor(p, func(p *messages.Carried) (any, error) {
			to, by, inner, err := messages.CarriedFromProto(p)
			if err != nil {
				return nil, err
			}
			m, err := agreement(inner)
			return carried{c.from, to, m, by != ""}, err
		})
	}
	inner, err := w.encoded(c.from, c.to, c.message)
	if err != nil {
		return inner, err
	}
	return aboutShard(inner.shard, messages.Relayed{From: c.from, To: c.to, Message: inner.bytes}, func(v any) any {
		r := v.(messages.Relayed)
		m, err := inner.decode(r.Message)
		if err != nil {
			panic(err) // encode has just encoded it
		}
		return carried{r.From, r.To, m, c.brought}
	})
}

// toActor encodes a message on control connections.
func toActor[P proto.Message](p P, of func(P) (any, error)) (encoded, error) {
	b, err := proto.Marshal(p)
	if b == nil {
		b = []byte{}
	}
	return encoded{b, -1, func(b []byte) (any, error) {
		fresh := p.ProtoReflect().New().Interface().(P)
		if err := proto.Unmarshal(b, fresh); err != nil {
			return nil, err
		}
		return of(fresh)
	}}, err
}
