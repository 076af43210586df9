package workflows

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/messages"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// seat is an actor that an attempt uses.
type seat struct {
	in     core.Located // the input that holds it, unless the attempt has made the actor
	value  uint64       // of the input: the actor's state
	given  flow.ActorAt // as the input holds it
	at     flow.ActorAt // what the attempt uses: given, or the copy that it has restored
	own    bool         // the attempt has made or restored it, at the version that its output has
	state  flow.Ref     // its snapshot, if its Object is not empty
	writes bool
}

// call returns a call to the actor of a seat.
func (a *attempt) call(s *seat, deed flow.ActorDeed) flow.ActorCall {
	c := flow.ActorCall{Deed: deed, Actor: s.at}
	if s.writes && !s.own {
		c.By = a.by()
	}
	return c
}

// by is the Prefix of the attempt, also of one that makes an output again.
func (a *attempt) by() string {
	o := a.order
	return flow.Prefix(o.ID.Run.String(), fmt.Sprint(o.ID.Task), o.Gen, o.ID.Attempt, false)
}

// makesOutput reports whether the attempt makes an output, and is no undo or compensation.
func (a *attempt) makesOutput() bool {
	return a.order.Kind == core.Do || a.order.Kind == core.Remake
}

// seats returns the actors that inputs hold. Undos and compensations only read them.
func (a *attempt) seats() (all []*seat) {
	o := a.order
	at := map[uint32]*seat{}
	for _, arg := range o.Of.(*messages.Job).Args {
		if !arg.OfTask() {
			continue
		}
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
			s = &seat{in: l, value: binary.BigEndian.Uint64(b), given: actor.ActorAt, at: actor.ActorAt}
			if i := slices.IndexFunc(refs, func(r flow.Ref) bool { return r.Object == actor.State }); i >= 0 {
				s.state = refs[i]
			}
			at[arg.N] = s
			all = append(all, s)
		}
		s.writes = s.writes || arg.Kind != messages.InputRead && a.makesOutput()
	}
	return all
}

// askActor calls an actor. The attempt ends if that fails, or if the actor's node does not answer. Otherwise then is called.
func (a *attempt) askActor(c flow.ActorCall, then func(m flow.ActorAnswer, gone bool)) {
	if a.over() || a.canceled() {
		return
	}
	number := uint64(0)
	number = a.h.askActor(c, func(m flow.ActorAnswer) {
		delete(a.asks, number)
		switch {
		case a.over():
		case m.End == flow.ActorFailed || m.End == flow.ActorSilent:
			a.h.Met("workflow: attempt fails with a call to an actor")
			a.end(core.AttemptEnded{Failed: m.Why, Lost: a.h.p.Refuses()})
		default:
			then(m, m.End == flow.ActorGone || m.End == flow.ActorCrashed)
		}
	})
	a.asks[number] = true
}

// sit has the attempt read the actors of its inputs, and claim those that it writes.
func (a *attempt) sit(left []*seat, then func()) {
	if a.over() {
		return
	}
	if len(left) == 0 {
		then()
		return
	}
	s, what := left[0], readState
	if left[0].writes {
		what = ""
	}
	a.h.later(a.h.Upto(5*ms), func() {
		a.use(s, what, nil, func(m flow.ActorAnswer, lacks bool) {
			if lacks {
				a.sit(left[1:], then)
				return
			}
			if what == readState {
				a.wasRight(s, m)
			}
			a.h.Met("workflow: actor used")
			if s.state.Object == "" {
				a.h.Met("workflow: actor without a snapshot used")
			}
			if s.at.Node != a.h.self {
				a.h.Met("workflow: actor of another node used")
			}
			a.sit(left[1:], then)
		})
	})
}

// wasRight checks that an actor had the state that the input says.
func (a *attempt) wasRight(s *seat, m flow.ActorAnswer) {
	if binary.BigEndian.Uint64(m.Bytes) != s.value {
		a.h.Fail("(8) %s finds %+v in the state %x, and it was %x", a.by(), s.at, m.Bytes, s.value)
	}
}

// use has an actor do something. One that is gone is restored of its snapshot first; without one the attempt lacks an input.
func (a *attempt) use(s *seat, name string, b []byte, then func(m flow.ActorAnswer, lacks bool)) {
	c := a.call(s, flow.ActorDo)
	c.Name, c.Bytes = name, b
	if c.By != "" {
		a.mine = append(a.mine, movedBy(c))
	}
	if name != "" && a.h.R.IntN(4) == 0 {
		a.larges++
		c.Object = phalanx.ObjectID(fmt.Sprint(a.by(), ".answer", a.larges))
	}
	a.askActor(c, func(m flow.ActorAnswer, gone bool) {
		switch {
		case m.Large.Object != "":
			a.readAnswer(m, then)
		case !gone:
			then(m, false)
		case s.state.Object == "" && m.End == flow.ActorCrashed: // no input was lost: that is a failure
			a.h.Met("workflow: attempt fails with an actor")
			a.end(core.AttemptEnded{Failed: m.Why})
		case s.state.Object == "":
			a.lacksActor(s)
			then(m, true)
		default:
			a.restore(s, func(lacks bool) {
				if lacks {
					then(m, true)
					return
				}
				a.use(s, name, b, then)
			})
		}
	})
}

// readAnswer reads a large answer. Until the attempt says that it has, or ends, the node of the actor keeps it.
func (a *attempt) readAnswer(m flow.ActorAnswer, then func(m flow.ActorAnswer, lacks bool)) {
	a.asks[m.Number] = true
	on := a.h.store.origin(m.Large.Object)
	a.h.get(m.Large.Object, func(b []byte, gone bool) {
		switch {
		case a.over():
		case gone:
			if a.h.Member(on) && a.h.Member(a.h.self) {
				a.h.Fail("(8) the answer %s of an actor is gone, and nobody has read it", m.Large.Object)
			}
			a.end(core.AttemptEnded{Failed: "nobody has the answer of an actor"})
		default:
			a.h.Met("workflow: large answer of an actor read")
			delete(a.asks, m.Number)
			a.h.unaskActor(m.Number)
			m.Bytes = b
			then(m, false)
		}
	})
}

// lacksActor notes that nobody can use the actor of an input any more.
func (a *attempt) lacksActor(s *seat) {
	a.h.Met("workflow: actor is gone")
	a.missing = append(a.missing, flow.BlobOf(a.order.ID.Run, s.in))
}

// restore makes a new actor of a snapshot. It is at the version that an attempt has made which writes it.
func (a *attempt) restore(s *seat, then func(lacks bool)) {
	var state []byte
	a.get([]flow.Ref{s.state}, func(r flow.Ref, then func(gone bool)) {
		a.h.has.Object(a.order.ID.Run.String(), r.Object, false)
		a.h.get(r.Object, func(b []byte, gone bool) {
			if !gone {
				a.got[r.Object], state = true, b
			}
			then(gone)
		})
	}, func() {
		if state == nil {
			then(true)
			return
		}
		if v := binary.BigEndian.Uint64(state); v != s.value {
			a.h.Fail("(8) a snapshot of task %d of %s has the state %x, and it was %x", s.in.Task, a.order.ID.Run, v, s.value)
		}
		c := flow.ActorCall{Deed: flow.ActorRestore, Bytes: state}
		if a.h.R.IntN(2) == 0 {
			c.Bytes, c.Large = nil, s.state
		}
		a.begin(c, fmt.Sprint("restored", s.in.Task), s.given.Version+1, func(at flow.ActorAt) {
			a.h.Met("workflow: actor restored")
			s.at, s.own = at, true
			then(false)
		})
	})
}

// mostBegun bounds how often an attempt makes or restores actors: they may end again and again.
const mostBegun = 10

// begin makes an actor on some node. Each has another name: the node of the one before may still have that.
func (a *attempt) begin(c flow.ActorCall, name string, version uint64, then func(flow.ActorAt)) {
	if a.begun++; a.begun > mostBegun {
		a.end(core.AttemptEnded{Failed: "actors end again and again"})
		return
	}
	c.Name = actorKind
	c.Actor = flow.ActorAt{Node: a.where(), ID: flow.ActorID(a.by(), fmt.Sprint(name, ".", a.begun)), By: a.by(), Version: version}
	a.mine = append(a.mine, c.Actor)
	a.askActor(c, func(_ flow.ActorAnswer, gone bool) {
		if gone {
			a.begin(c, name, version, then)
			return
		}
		if c.Actor.Node != a.h.self {
			a.h.Met("workflow: actor made on another node")
		}
		then(c.Actor)
	})
}

const actorKind = "actor@1"

// where returns the node on which the attempt makes an actor: mostly its own.
func (a *attempt) where() phalanx.NodeID {
	h := a.h
	if h.R.IntN(4) > 0 {
		return h.self
	}
	others := slices.DeleteFunc(slices.Clone(h.view.Nodes), func(n phalanx.NodeID) bool {
		return n == h.self || slices.Contains(h.view.Leaving, n)
	})
	if len(others) == 0 {
		return h.self
	}
	return others[h.R.IntN(len(others))]
}

// write gives the actors that the attempt writes their new state.
func (a *attempt) write(left []*seat, answer uint64, then func()) {
	switch {
	case len(left) == 0 || len(a.missing) > 0:
		then()
	case !left[0].writes:
		a.write(left[1:], answer, then)
	default:
		a.use(left[0], writeState, stateBytes(answer), func(m flow.ActorAnswer, lacks bool) {
			if lacks {
				a.h.Met("workflow: actor is gone as it is written")
			} else {
				a.wasRight(left[0], m)
			}
			a.write(left[1:], answer, then)
		})
	}
}

// hold has an actor that the output of the attempt holds: one that it has written, or another one.
func (a *attempt) hold(answer uint64, refs []flow.Ref, then func([]flow.Ref)) {
	job := a.order.Of.(*messages.Job)
	if !job.Call.Actors {
		then(refs)
		return
	}
	with := func(s *seat) {
		c := a.call(s, flow.ActorSave)
		a.holds = flow.Actor{ActorAt: movedBy(c), Kind: actorKind, Name: "actor"}
		if !job.Call.Snapshot {
			then(refs)
			return
		}
		c.Object = flow.StateID(a.by(), 0)
		a.h.has.Object(a.order.ID.Run.String(), c.Object, job.Result)
		a.askActor(c, func(m flow.ActorAnswer, gone bool) {
			switch {
			case !gone:
				a.holds.State = m.Large.Object
				then(append(refs, m.Large))
			case s.own || s.state.Object != "" || m.End == flow.ActorCrashed:
				a.end(core.AttemptEnded{Failed: m.Why})
			default:
				a.lacksActor(s)
				then(refs)
			}
		})
	}
	if i := slices.IndexFunc(a.sits, func(s *seat) bool { return s.writes }); i >= 0 {
		with(a.sits[i])
		return
	}
	a.begin(flow.ActorCall{Deed: flow.ActorMake, Bytes: stateBytes(answer)}, "actor", 1, func(at flow.ActorAt) {
		with(&seat{at: at, own: true})
	})
}

// rise ends the attempt's use of actors: nobody waits for calls, and actors are discarded that its output does not hold.
func (a *attempt) rise(well bool) {
	for _, n := range slices.Sorted(maps.Keys(a.asks)) {
		a.h.unaskActor(n)
	}
	clear(a.asks)
	for i, at := range a.mine {
		if !slices.Contains(a.mine[:i], at) && !(well && at == a.holds.ActorAt) {
			a.h.askActor(flow.ActorCall{Deed: flow.ActorDiscard, Actor: at}, nil)
		}
	}
}

// holding returns an output with an actor, and its bytes.
func holding(answer uint64, actor flow.Actor, refs []flow.Ref) (core.Output, []byte) {
	form, err := messages.MarshalActor(actor)
	if err != nil {
		panic(err) // it can be
	}
	b := append(binary.BigEndian.AppendUint64(nil, answer), form...)
	if len(refs) > 0 {
		return bundleOf(b, refs)
	}
	return core.Output{Size: int64(len(b)), Digest: durable.DigestOf(b), Recorded: true, Bytes: b}, b
}
