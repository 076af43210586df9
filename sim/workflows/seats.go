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
	*flow.Seat
	in     core.Located // the input that holds it, unless the attempt has made the actor
	value  uint64       // of the input: the actor's state
	state  flow.Ref     // its snapshot, if its Object is not empty
	writes bool
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

// given returns the actors that inputs hold. Undos and compensations only read them.
func (a *attempt) given() (all []*seat) {
	o := a.order
	a.seats = flow.NewSeats(a.by())
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
			s = &seat{in: l, value: binary.BigEndian.Uint64(b)}
			if i := slices.IndexFunc(refs, func(r flow.Ref) bool { return r.Object == actor.State }); i >= 0 {
				s.state = refs[i]
			}
			from := flow.BlobOf(o.ID.Run, l)
			s.Seat = a.seats.Given(actorKind, actor.ActorAt, &from, s.state.Object != "")
			at[arg.N] = s
			all = append(all, s)
		}
		if arg.Kind != messages.InputRead && a.makesOutput() {
			s.Write()
			s.writes = true
		}
	}
	return all
}

// askActor calls an actor, and calls then with the answer unless the attempt has ended by then.
func (a *attempt) askActor(c flow.ActorCall, then func(m flow.ActorAnswer)) {
	if a.over() || a.canceled() {
		return
	}
	number := uint64(0)
	number = a.h.askActor(c, func(m flow.ActorAnswer) {
		delete(a.asks, number)
		if !a.over() {
			then(m)
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
	if s.writes {
		what = ""
	}
	a.h.later(a.h.Upto(5*ms), func() {
		a.use(s, flow.ActorCall{Deed: flow.ActorDo, Name: what}, func(m flow.ActorAnswer, lacks bool) {
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
			if s.At().Node != a.h.self {
				a.h.Met("workflow: actor of another node used")
			}
			a.sit(left[1:], then)
		})
	})
}

// wasRight checks that an actor had the state that the input says.
func (a *attempt) wasRight(s *seat, m flow.ActorAnswer) {
	if binary.BigEndian.Uint64(m.Bytes) != s.value {
		a.h.Fail("(8) %s finds %+v in the state %x, and it was %x", a.by(), s.At(), m.Bytes, s.value)
	}
}

// use has an actor do something, as often as the core says. lacks says that nobody can use it any more.
func (a *attempt) use(s *seat, c flow.ActorCall, then func(m flow.ActorAnswer, lacks bool)) {
	call, next := s.Next(c)
	switch {
	case next == flow.SeatLost:
		then(flow.ActorAnswer{}, true)
		return
	case next == flow.SeatCalls && c.Deed == flow.ActorDo && c.Name != "" && a.h.R.IntN(4) == 0:
		a.larges++
		call.Object = phalanx.ObjectID(fmt.Sprint(a.by(), ".answer", a.larges))
	}
	a.askActor(call, func(m flow.ActorAnswer) {
		switch {
		case next == flow.SeatClaims && m.End == flow.ActorDone:
			a.h.versions[movedBy(call)] = a.h.versions[call.Actor]
			a.answered(s, c, call, m, then)
		case m.Large.Object != "" && c.Deed == flow.ActorDo:
			a.readAnswer(m, func(m flow.ActorAnswer) { a.answered(s, c, call, m, then) })
		default:
			a.answered(s, c, call, m, then)
		}
	})
}

// answered does what follows of an answer.
func (a *attempt) answered(s *seat, c, call flow.ActorCall, m flow.ActorAnswer, then func(m flow.ActorAnswer, lacks bool)) {
	switch s.Answered(call, m.End) {
	case flow.SeatDone:
		if m.End != flow.ActorDone {
			a.fails(m)
			return
		}
		then(m, false)
	case flow.SeatAgain:
		a.use(s, c, then)
	case flow.SeatRestores:
		a.restore(s, func(lacks bool) {
			if lacks {
				then(m, true)
				return
			}
			a.use(s, c, then)
		})
	case flow.SeatLost:
		if len(a.lacking()) > 0 {
			a.h.Met("workflow: actor is gone")
			then(m, true)
			return
		}
		a.h.Met("workflow: attempt fails with an actor")
		if a.seats.Bereft() {
			a.h.Met("workflow: attempt loses an actor of its own")
		}
		a.end(core.AttemptEnded{Failed: m.Why, Lost: a.seats.Bereft()})
	}
}

// fails ends the attempt as a call to an actor has failed.
func (a *attempt) fails(m flow.ActorAnswer) {
	a.h.Met("workflow: attempt fails with a call to an actor")
	a.end(core.AttemptEnded{Failed: m.Why, Lost: a.h.p.Refuses()})
}

// lacking returns the inputs that cannot be had, or whose actors are lost.
func (a *attempt) lacking() []core.Blob {
	if a.seats == nil {
		return a.missing
	}
	return append(slices.Clone(a.missing), a.seats.Torn()...)
}

// readAnswer reads a large answer. Until the attempt says that it has, or ends, the node of the actor keeps it.
func (a *attempt) readAnswer(m flow.ActorAnswer, then func(m flow.ActorAnswer)) {
	a.asks[m.Number] = true
	on := a.h.store.origin(m.Large.Object)
	a.h.get(m.Large.Object, func(b []byte, gone bool) {
		switch {
		case a.over():
		case gone:
			if p := a.h.Find(on); p != nil && !p.Dead && a.h.Member(on) && a.h.Member(a.h.self) {
				a.h.Fail("(8) the answer %s of an actor is gone, and nobody has read it", m.Large.Object)
			}
			delete(a.asks, m.Number)
			a.h.unaskActor(m.Number)
			a.h.Met("workflow: large answer of an actor lost")
			then(flow.ActorAnswer{Number: m.Number, End: flow.ActorGone, Why: "nobody has the answer of the actor"})
		default:
			a.h.Met("workflow: large answer of an actor read")
			delete(a.asks, m.Number)
			a.h.unaskActor(m.Number)
			m.Bytes = b
			then(m)
		}
	})
}

// restore makes a new actor of a snapshot.
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
		a.make(s, c, func() {
			a.h.Met("workflow: actor restored")
			then(false)
		})
	})
}

// make makes an actor on some node, as the core says.
func (a *attempt) make(s *seat, c flow.ActorCall, then func()) {
	c.Name = actorKind
	m := s.Make(a.places(), flow.MakingPatience)
	var try func()
	try = func() {
		if a.over() {
			return
		}
		at, next := m.Next()
		switch next {
		case flow.MakingWaits:
			a.h.Met("workflow: no node makes an actor for a while")
			a.h.later(flow.MakingPause, func() {
				m.Again(a.places())
				try()
			})
			return
		case flow.MakingSilent, flow.MakingLacks:
			a.fails(flow.ActorAnswer{Why: "no node can make an actor"})
			return
		}
		c.Actor = at
		a.askActor(c, func(answer flow.ActorAnswer) {
			switch m.Answered(answer.End) {
			case flow.MakingDone:
				if at.Node != a.h.self {
					a.h.Met("workflow: actor made on another node")
				}
				then()
			case flow.MakingFailed:
				a.fails(answer)
			default:
				a.h.Met("workflow: actor made on the next node")
				try()
			}
		})
	}
	try()
}

// places returns the nodes on which an actor may be made.
func (a *attempt) places() []phalanx.NodeID {
	return slices.DeleteFunc(slices.Clone(a.h.view.Nodes), func(n phalanx.NodeID) bool { return slices.Contains(a.h.view.Leaving, n) })
}

const actorKind = "actor@1"

// write gives the actors that the attempt writes their new state.
func (a *attempt) write(left []*seat, answer uint64, then func()) {
	switch {
	case len(left) == 0 || len(a.lacking()) > 0:
		then()
	case !left[0].writes:
		a.write(left[1:], answer, then)
	default:
		a.use(left[0], flow.ActorCall{Deed: flow.ActorDo, Name: writeState, Bytes: stateBytes(answer)}, func(m flow.ActorAnswer, lacks bool) {
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
		holds := func(state phalanx.ObjectID, refs []flow.Ref) {
			s.Keep()
			a.holds = flow.Actor{ActorAt: s.At(), Kind: actorKind, Name: "actor", State: state}
			then(refs)
		}
		a.use(s, flow.ActorCall{Deed: flow.ActorDo}, func(_ flow.ActorAnswer, lacks bool) {
			if lacks || !job.Call.Snapshot {
				holds("", refs)
				return
			}
			id := flow.StateID(a.by(), 0)
			a.h.has.Object(a.order.ID.Run.String(), id, job.Result)
			a.use(s, flow.ActorCall{Deed: flow.ActorSave, Object: id}, func(m flow.ActorAnswer, lacks bool) {
				if lacks {
					holds("", refs)
					return
				}
				holds(m.Large.Object, append(refs, m.Large))
			})
		})
	}
	if i := slices.IndexFunc(a.sits, func(s *seat) bool { return s.writes }); i >= 0 {
		with(a.sits[i])
		return
	}
	s := &seat{Seat: a.seats.Spawn(actorKind)}
	a.make(s, flow.ActorCall{Deed: flow.ActorMake, Bytes: stateBytes(answer)}, func() { with(s) })
}

// rise ends the attempt's use of actors: nobody waits for calls, and actors are discarded that its output does not hold.
func (a *attempt) rise(well bool) {
	for _, n := range slices.Sorted(maps.Keys(a.asks)) {
		a.h.unaskActor(n)
	}
	clear(a.asks)
	if a.seats == nil {
		return
	}
	for _, at := range a.seats.Leaves(well) {
		a.h.askActor(flow.ActorCall{Deed: flow.ActorDiscard, Actor: at}, nil)
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
