package workflows

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/messages"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// stateID returns the id of the object that has the snapshot of an actor at the version of an attempt.
func stateID(by string) phalanx.ObjectID { return phalanx.ObjectID(by + ".state") }

// seat is an actor that an attempt uses, and the input that holds it.
type seat struct {
	in     core.Located
	value  uint64 // of the input: the actor's state
	at     flow.ActorAt
	state  flow.Ref // its snapshot, if its Object is not empty
	writes bool
}

// by is the Prefix of the attempt, also of one that makes an output again.
func (a *attempt) by() string {
	o := a.order
	return flow.Prefix(o.ID.Run.String(), fmt.Sprint(o.ID.Task), o.Gen, o.ID.Attempt, false)
}

// seats returns the actors that inputs hold. Undos and compensations only read them.
func (a *attempt) seats() (all []*seat) {
	o := a.order
	at := map[uint32]*seat{}
	for _, arg := range o.Of.(*messages.Job).Args {
		l := o.Inputs[arg.N]
		if id := flow.InputID(o.ID.Run, l); id != "" {
			l.Output.Bytes = a.bytes[id]
		}
		b, refs, err := opened(l.Output)
		if err != nil {
			a.h.Fail("an input of %+v: %v", o.ID, err)
		}
		if l.Output.Error != "" || len(b) <= 8 || b[8] != '{' {
			continue
		}
		s := at[arg.N]
		if s == nil {
			actor, err := messages.UnmarshalActor(b[8:])
			if err != nil {
				a.h.Fail("an input of %+v: %v", o.ID, err)
			}
			s = &seat{in: l, value: binary.BigEndian.Uint64(b), at: actor.ActorAt}
			if i := slices.IndexFunc(refs, func(r flow.Ref) bool { return r.Object == stateID(actor.By) }); i >= 0 {
				s.state = refs[i]
			}
			at[arg.N] = s
			all = append(all, s)
		}
		s.writes = s.writes || arg.Kind != messages.InputRead && (o.Kind == core.Do || o.Kind == core.Remake)
	}
	return all
}

// sit has the attempt read and write the actors of its inputs. One that cannot be used is restored of its snapshot, if it has one.
func (a *attempt) sit(left []*seat, then func()) {
	if a.over() {
		return
	}
	if len(left) == 0 {
		then()
		return
	}
	s := left[0]
	a.h.later(a.h.Upto(5*ms), func() {
		on, alive := a.h.actorsOf(s.at.Node)
		switch {
		case a.over():
		case a.canceled():
		case alive && on == nil: // it does not answer, and may be there
			a.sit(left, then)
		case alive && on.takes(s, a.by()):
			a.h.Met("workflow: actor used")
			if s.state.Object == "" {
				a.h.Met("workflow: actor without a snapshot used")
			}
			a.sit(left[1:], then)
		case s.state.Object == "":
			a.h.Met("workflow: actor is gone")
			a.missing = append(a.missing, flow.BlobOf(a.order.ID.Run, s.in))
			a.sit(left[1:], then)
		default:
			a.restore(s, func() { a.sit(left[1:], then) })
		}
	})
}

// actorsOf returns the host of a member; nil: it does not answer.
func (h *host) actorsOf(n phalanx.NodeID) (on *host, alive bool) {
	p := h.Find(n)
	if p == nil || p.Dead || !h.Member(n) || h.hosts[p].self != n {
		return nil, false
	}
	if on = h.hosts[p]; on != h && (!h.Well(h.p) || !h.Well(p)) {
		return nil, true
	}
	return on, true
}

// takes has an attempt use an actor.
func (h *host) takes(s *seat, by string) bool {
	if s.writes {
		again := s.at
		now, ok := h.actors.Writes(s.at, by)
		if !ok {
			return false
		}
		s.at = now
		if h.states[s.at.ID] != s.value {
			h.Fail("(8) %s has written %+v, and writes it again", by, again)
		}
		return true
	}
	if !h.actors.Reads(s.at) {
		return false
	}
	if h.states[s.at.ID] != s.value {
		h.Fail("(8) %s reads %+v in the state %x, and it was %x", by, s.at, h.states[s.at.ID], s.value)
	}
	return true
}

// restore makes a new actor of a snapshot.
func (a *attempt) restore(s *seat, then func()) {
	a.get([]flow.Ref{s.state}, func(r flow.Ref, then func(gone bool)) {
		a.h.has.Object(a.order.ID.Run.String(), r.Object, false)
		a.h.get(r.Object, func(b []byte, gone bool) {
			if !gone {
				a.h.Met("workflow: actor restored")
				a.got[r.Object] = true
				s.at = flow.ActorAt{Node: a.h.self, ID: flow.ActorID(a.by(), fmt.Sprint("restored", s.in.Task)), By: a.by(), Version: s.at.Version + 1}
				a.h.makeActor(s.at, binary.BigEndian.Uint64(b))
				if a.h.states[s.at.ID] != s.value {
					a.h.Fail("(8) a snapshot of task %d of %s has the state %x, and it was %x", s.in.Task, a.order.ID.Run, a.h.states[s.at.ID], s.value)
				}
			}
			then(gone)
		})
	}, then)
}

func (h *host) makeActor(at flow.ActorAt, state uint64) {
	h.actors.Made(at)
	h.states[at.ID] = state
}

// write gives the actors that the attempt writes their new state. It reports false if one is gone: its version is.
func (a *attempt) write(answer uint64) bool {
	if a.order.Kind != core.Do && a.order.Kind != core.Remake {
		return true
	}
	for _, s := range a.sits {
		if !s.writes {
			continue
		}
		on, _ := a.h.actorsOf(s.at.Node)
		if on == nil || !on.actors.Reads(s.at) {
			a.h.Met("workflow: actor is gone as it is written")
			a.missing = append(a.missing, flow.BlobOf(a.order.ID.Run, s.in))
			return false
		}
		on.states[s.at.ID] = answer
	}
	return true
}

// actor returns the actor that the output of the attempt holds: one that it has written, or another one.
func (a *attempt) actor(answer uint64) flow.ActorAt {
	for _, s := range a.sits {
		if s.writes {
			return s.at
		}
	}
	at := flow.ActorAt{Node: a.h.self, ID: flow.ActorID(a.by(), "actor"), By: a.by(), Version: 1}
	a.h.makeActor(at, answer)
	return at
}

// snapshot makes the object of an actor's state.
func (a *attempt) snapshot(answer uint64) (flow.Ref, error) {
	b := binary.BigEndian.AppendUint64(nil, answer)
	id := stateID(a.by())
	a.h.has.Object(a.order.ID.Run.String(), id, a.order.Of.(*messages.Job).Result)
	a.h.Met("workflow: snapshot of an actor")
	return flow.Ref{Object: id, Meta: phalanx.Meta{Size: int64(len(b))}, Digest: durable.DigestOf(b)}, a.h.store.put(a.h, id, b)
}

// holding returns an output with an actor, and its bytes.
func holding(answer uint64, at flow.ActorAt, refs []flow.Ref) (core.Output, []byte) {
	form, err := messages.MarshalActor(flow.Actor{ActorAt: at, Kind: "actor@1", Name: "actor"})
	if err != nil {
		panic(err) // it can be
	}
	b := append(binary.BigEndian.AppendUint64(nil, answer), form...)
	if len(refs) > 0 {
		return bundleOf(b, refs)
	}
	return core.Output{Size: int64(len(b)), Digest: durable.DigestOf(b), Recorded: true, Bytes: b}, b
}

// runs returns of which runs the node has something.
func (h *host) runs() []core.UID {
	return slices.Concat(h.has.Runs(), h.actors.Runs())
}
