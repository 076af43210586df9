package workflow

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/agenda"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// ActorHost answers the calls to actors that live on this node, each once however often it comes: what a call asks for is done only if
// the actor is at the version that it names. So two attempts never write one version, and an attempt that goes on although its node was
// removed reads and writes nothing that others have (workflow specification 1.4).
type ActorHost struct {
	self    phalanx.NodeID
	now     time.Duration
	actors  *Actors
	members map[phalanx.NodeID]bool
	callers map[phalanx.NodeID]*actorCallsOf
	open    map[string]map[actorCallID]bool // calls that go on, by the actor's ID
	bytes   int                             // of calls that go on and of answers
	silent  agenda.Agenda[actorCallID]      // when a call that is not repeated is given up
	tell    time.Duration                   // when it says next of which runs it has actors; 0: it has none
	out     []ActorHostEffect
}

type actorCallID struct {
	From   phalanx.NodeID
	Number uint64
}

func (a actorCallID) compare(b actorCallID) int {
	return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Number, b.Number))
}

const (
	// mostActorBytes bounds what an ActorHost keeps of calls; further ones are taken when some are over. The oldest call of a node is
	// always taken: so each node gets on.
	mostActorBytes = 64 << 20
	// callBytes is about what a call costs beside its argument and its answer.
	callBytes = 512
	// unrepeatedMost is how long a call goes on that is not repeated, and its answer is kept: a caller that waits repeats it sooner, and
	// gives up sooner itself.
	unrepeatedMost = 15 * time.Second
	// tellEvery is how often the host tells of which runs the node has actors: that they have ended may not have reached the node.
	tellEvery = time.Minute
)

// ActorHostEvent is what an ActorHost hears.
type ActorHostEvent interface{ actorHostEvent() }

type (
	// ActorCalled brings a call.
	ActorCalled struct {
		From phalanx.NodeID
		Call ActorCall
	}
	// ActorLeft brings an ActorOver.
	ActorLeft struct {
		From phalanx.NodeID
		Over ActorOver
	}
	// ActorPerformed says how what ActorPerform asked for has ended: ActorDone or ActorFailed. If no actor could be made ActorDied
	// follows.
	ActorPerformed struct {
		From   phalanx.NodeID
		Answer ActorAnswer
	}
	// ActorDied says that an actor is no more.
	ActorDied struct{ ID, Why string }
	// ActorsFreed says that runs have ended.
	ActorsFreed struct{ Runs []core.Released }
)

func (ActorCalled) actorHostEvent()    {}
func (ActorLeft) actorHostEvent()      {}
func (ActorPerformed) actorHostEvent() {}
func (ActorDied) actorHostEvent()      {}
func (ActorsFreed) actorHostEvent()    {}
func (Around) actorHostEvent()         {}
func (Tick) actorHostEvent()           {}

// ActorHostEffect is what the host of an ActorHost must do.
type ActorHostEffect interface{ actorHostEffect() }

type (
	// ActorPerform has an actor do what a call asks for, after all that it was asked for before. ActorPerformed says how it has ended.
	ActorPerform struct {
		From phalanx.NodeID
		Call ActorCall
	}
	// ActorStop ends the context of what an actor does, or is about to do: nobody waits for it.
	ActorStop struct {
		From   phalanx.NodeID
		Number uint64
	}
	// ActorReply sends an answer.
	ActorReply struct {
		To     phalanx.NodeID
		Answer ActorAnswer
	}
	// ActorDrop ends an actor.
	ActorDrop struct{ ID string }
	// ActorKept says of which runs the node has actors: of a run when it has its first one, and of all of them every minute. The host
	// brings it to the executor as core.Kept, so that the controller tells the node when the runs have ended.
	ActorKept struct{ Runs []core.UID }
	// ActorSpare deletes the object of a large answer, which was read.
	ActorSpare struct{ Object phalanx.ObjectID }
)

func (ActorPerform) actorHostEffect() {}
func (ActorStop) actorHostEffect()    {}
func (ActorReply) actorHostEffect()   {}
func (ActorDrop) actorHostEffect()    {}
func (ActorKept) actorHostEffect()    {}
func (ActorSpare) actorHostEffect()   {}

// NewActorHost returns that of an incarnation of a node.
func NewActorHost(self phalanx.NodeID) *ActorHost {
	return &ActorHost{self: self, actors: NewActors(), members: map[phalanx.NodeID]bool{}, callers: map[phalanx.NodeID]*actorCallsOf{}, open: map[string]map[actorCallID]bool{}}
}

// Runs returns of which runs the node has actors.
func (h *ActorHost) Runs() []core.UID { return h.actors.Runs() }

// Of reports whether the node has actors of a run.
func (h *ActorHost) Of(u core.UID) bool { return h.actors.Of(u) }

// Busy reports whether an actor of the node does what a call asks for.
func (h *ActorHost) Busy() bool { return len(h.open) > 0 }

// Due returns when it has to hear of the time; false: it need not.
func (h *ActorHost) Due() (at time.Duration, ok bool) {
	at, ok = h.silent.Due()
	if h.tell > 0 && (!ok || h.tell < at) {
		return h.tell, true
	}
	return at, ok
}

// Step takes an event and returns what the host must do, in that order.
func (h *ActorHost) Step(now time.Duration, ev ActorHostEvent) []ActorHostEffect {
	h.now = max(h.now, now)
	switch ev := ev.(type) {
	case ActorCalled:
		if h.members[ev.From] { // else it is repeated, until the view here has its node
			h.called(ev.From, ev.Call)
		}
	case ActorLeft:
		if h.members[ev.From] {
			h.left(ev.From, ev.Over)
		}
	case ActorPerformed:
		if c := h.call(ev.From, ev.Answer.Number); c != nil && c.answer == nil {
			h.answer(ev.From, c, ev.Answer)
		} else if ev.Answer.Large.Object != "" { // nobody will ask for it
			h.out = append(h.out, ActorSpare{ev.Answer.Large.Object})
		}
	case ActorDied:
		h.actors.Gone(ev.ID)
		h.gone(ev.ID, ActorCrashed, ev.Why)
	case ActorsFreed:
		for _, id := range h.actors.Free(ev.Runs) {
			h.drop(id, "the run of the actor has ended")
		}
	case Around:
		h.around(ev.Nodes)
	}
	for id, ok := h.silent.Take(h.now); ok; id, ok = h.silent.Take(h.now) {
		h.unrepeated(id)
	}
	h.tells()
	out := h.out
	h.out = nil
	return out
}

func (h *ActorHost) called(from phalanx.NodeID, m ActorCall) {
	of := h.caller(from)
	h.hear(from, of, m.OpenCalls)
	if of.isOver(m.Number) { // a late copy
		return
	}
	c := of.calls[m.Number]
	switch {
	case c != nil && c.answer != nil:
		h.repeated(from, c, m.Number)
		h.out = append(h.out, ActorReply{from, *c.answer})
		return
	case c != nil:
		h.repeated(from, c, m.Number)
		h.out = append(h.out, ActorReply{from, ActorAnswer{Number: m.Number, End: ActorWorks}})
		return
	case !of.oldest(m.Number) && h.bytes+callBytes+len(m.Bytes) > mostActorBytes:
		h.out = append(h.out, ActorReply{from, ActorAnswer{Number: m.Number, End: ActorWorks}})
		return
	}
	c = h.note(of, m.Number, m.Actor.ID, m.Deed, len(m.Bytes))
	h.repeated(from, c, m.Number)
	h.begin(from, c, m)
}

// left ends a call for which nobody waits. It is kept if the letter does not say that it is over: copies of it may be late.
func (h *ActorHost) left(from phalanx.NodeID, m ActorOver) {
	of := h.caller(from)
	h.hear(from, of, m.OpenCalls)
	if of.isOver(m.Number) {
		return
	}
	c := of.calls[m.Number]
	if c == nil {
		c = h.note(of, m.Number, "", ActorDo, 0)
	}
	h.stop(from, c, m.Number)
}

// begin has a call carried out if the actor is as it says.
func (h *ActorHost) begin(from phalanx.NodeID, c *hostedCall, m ActorCall) {
	done := func(end ActorEnd, why string) {
		h.answer(from, c, ActorAnswer{Number: m.Number, End: end, Why: why})
	}
	switch {
	case m.Actor.Node != h.self:
		done(ActorGone, fmt.Sprintf("the actor was on node %s, and this is node %s", m.Actor.Node, h.self))
	case m.Deed == ActorDiscard:
		if h.actors.Discard(m.Actor) {
			h.drop(m.Actor.ID, "the attempt that has made this version of the actor does not use it")
		}
		done(ActorDone, "")
	case m.Deed == ActorMake || m.Deed == ActorRestore:
		if _, is := h.actors.At(m.Actor.ID); is {
			done(ActorFailed, "there is an actor "+m.Actor.ID)
			return
		}
		if first := h.actors.Made(m.Actor); first {
			if u, is := core.ParseUID(RunOf(m.Actor.ID)); is {
				h.out = append(h.out, ActorKept{[]core.UID{u}})
			}
		}
		h.perform(from, m)
	case !h.takes(m):
		done(ActorGone, h.whyNot(m))
	case m.Deed == ActorDo && m.Name == "":
		done(ActorDone, "")
	default:
		h.perform(from, m)
	}
}

func (h *ActorHost) perform(from phalanx.NodeID, m ActorCall) {
	if h.open[m.Actor.ID] == nil {
		h.open[m.Actor.ID] = map[actorCallID]bool{}
	}
	h.open[m.Actor.ID][actorCallID{from, m.Number}] = true
	h.out = append(h.out, ActorPerform{from, m})
}

// takes reports whether an attempt may use an actor. One that writes it makes the next version.
func (h *ActorHost) takes(m ActorCall) bool {
	if m.By == "" {
		return h.actors.Reads(m.Actor)
	}
	_, ok := h.actors.Writes(m.Actor, m.By)
	return ok
}

// whyNot says why an attempt may not use an actor.
func (h *ActorHost) whyNot(m ActorCall) string {
	at, is := h.actors.At(m.Actor.ID)
	switch {
	case !is:
		return fmt.Sprintf("node %s does not have the actor any more", h.self)
	case at.Version > m.Actor.Version:
		return fmt.Sprintf("the actor is at version %d, which %s has written, and not at %d any more", at.Version, at.By, m.Actor.Version)
	}
	return fmt.Sprintf("the actor is at version %d of %s, and not at %d of %s", at.Version, at.By, m.Actor.Version, m.Actor.By)
}

func (h *ActorHost) answer(to phalanx.NodeID, c *hostedCall, m ActorAnswer) {
	h.bytes -= c.bytes
	c.bytes, c.answer = callBytes+len(m.Bytes), &m
	h.bytes += c.bytes
	h.ended(to, c, m.Number)
	h.repeated(to, c, m.Number)
	h.out = append(h.out, ActorReply{to, m})
}

// ended notes that an actor does not do what a call asks for any more, and reports whether it did.
func (h *ActorHost) ended(from phalanx.NodeID, c *hostedCall, number uint64) bool {
	id, open := actorCallID{from, number}, h.open[c.actor]
	if !open[id] {
		return false
	}
	if delete(open, id); len(open) == 0 {
		delete(h.open, c.actor)
	}
	return true
}

// drop has an actor end that nobody can use any more.
func (h *ActorHost) drop(id, why string) {
	h.actors.Gone(id)
	h.out = append(h.out, ActorDrop{id})
	h.gone(id, ActorGone, why)
}

// gone ends the calls of an actor that is no more.
func (h *ActorHost) gone(id string, end ActorEnd, why string) {
	for _, at := range slices.SortedFunc(maps.Keys(h.open[id]), actorCallID.compare) {
		h.out = append(h.out, ActorStop(at))
		h.answer(at.From, h.call(at.From, at.Number), ActorAnswer{Number: at.Number, End: end, Why: why})
	}
}

// around takes a view. Nobody waits for the calls of nodes that have left.
func (h *ActorHost) around(members []phalanx.NodeID) {
	clear(h.members)
	for _, n := range members {
		h.members[n] = true
	}
	for _, from := range slices.Sorted(maps.Keys(h.callers)) {
		if of := h.callers[from]; !h.members[from] {
			for _, n := range slices.Sorted(maps.Keys(of.calls)) {
				h.forget(from, of, n)
			}
			delete(h.callers, from)
		}
	}
}
