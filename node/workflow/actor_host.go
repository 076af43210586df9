package workflow

import (
	"fmt"
	"maps"
	"slices"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// ActorHost answers the calls to actors that live on this node, each once however often it comes: what a call asks for is done only if
// the actor is at the version that it names. So two attempts never write one version, and an attempt that goes on although its node was
// removed reads and writes nothing that others have (workflow specification 1.4).
type ActorHost struct {
	self    phalanx.NodeID
	actors  *Actors
	members map[phalanx.NodeID]bool
	callers map[phalanx.NodeID]*actorCallsOf
	open    map[string][]actorCallID // calls that go on, by the actor's ID
	bytes   int                      // of calls that go on and of answers
	out     []ActorHostEffect
}

// actorCallsOf are the calls of one node.
type actorCallsOf struct {
	below uint64 // all with lower numbers are over
	calls map[uint64]*hostedCall
	order []uint64 // the numbers of calls, sorted
}

type actorCallID struct {
	From   phalanx.NodeID
	Number uint64
}

// hostedCall is a call that goes on, or has ended and may be repeated.
type hostedCall struct {
	actor  string // its ID
	deed   ActorDeed
	bytes  int
	answer *ActorAnswer // nil: it goes on
}

// mostActorBytes bounds what an ActorHost keeps of calls; further ones are taken when some have ended. The oldest call of a node is
// always taken: until it has ended the answers to all later ones are kept.
const mostActorBytes = 64 << 20

// callBytes is about what a call costs beside its argument and its answer.
const callBytes = 512

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
	// ActorKept says that the node has its first actor of a run: the host brings it to the executor as core.Kept, so that the controller
	// tells the node when the run has ended.
	ActorKept struct{ Run core.UID }
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
	return &ActorHost{self: self, actors: NewActors(), members: map[phalanx.NodeID]bool{}, callers: map[phalanx.NodeID]*actorCallsOf{}, open: map[string][]actorCallID{}}
}

// Runs returns of which runs the node has actors.
func (h *ActorHost) Runs() []core.UID { return h.actors.Runs() }

// Of reports whether the node has actors of a run.
func (h *ActorHost) Of(u core.UID) bool { return h.actors.Of(u) }

// Busy reports whether an actor of the node does what a call asks for.
func (h *ActorHost) Busy() bool { return len(h.open) > 0 }

// Step takes an event and returns what the host must do, in that order.
func (h *ActorHost) Step(ev ActorHostEvent) []ActorHostEffect {
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
	out := h.out
	h.out = nil
	return out
}

func (h *ActorHost) call(from phalanx.NodeID, number uint64) *hostedCall {
	if of := h.callers[from]; of != nil {
		return of.calls[number]
	}
	return nil
}

func (h *ActorHost) caller(from phalanx.NodeID) *actorCallsOf {
	of := h.callers[from]
	if of == nil {
		of = &actorCallsOf{calls: map[uint64]*hostedCall{}}
		h.callers[from] = of
	}
	return of
}

func (h *ActorHost) called(from phalanx.NodeID, m ActorCall) {
	of := h.caller(from)
	h.raise(from, of, m.Below)
	if m.Number < of.below {
		return
	}
	c := of.calls[m.Number]
	switch {
	case c != nil && c.answer != nil:
		h.out = append(h.out, ActorReply{from, *c.answer})
		return
	case c != nil, m.Number > m.Below && h.bytes+callBytes+len(m.Bytes) > mostActorBytes:
		h.out = append(h.out, ActorReply{from, ActorAnswer{Number: m.Number, End: ActorWorks}})
		return
	}
	h.begin(from, h.note(of, m.Number, m.Actor.ID, m.Deed, len(m.Bytes)), m)
}

// note keeps a call, so that copies of it are known.
func (h *ActorHost) note(of *actorCallsOf, number uint64, actor string, deed ActorDeed, bytes int) *hostedCall {
	c := &hostedCall{actor: actor, deed: deed, bytes: callBytes + bytes}
	at, _ := slices.BinarySearch(of.order, number)
	of.calls[number], of.order = c, slices.Insert(of.order, at, number)
	h.bytes += c.bytes
	return c
}

// left ends a call for which nobody waits. It is kept: copies of it may be late.
func (h *ActorHost) left(from phalanx.NodeID, m ActorOver) {
	of := h.caller(from)
	h.raise(from, of, m.Below)
	if m.Number < of.below {
		return
	}
	c := of.calls[m.Number]
	if c == nil {
		c = h.note(of, m.Number, "", ActorDo, 0)
	}
	h.stop(from, c, m.Number)
}

// stop ends a call that goes on.
func (h *ActorHost) stop(from phalanx.NodeID, c *hostedCall, number uint64) {
	if c.answer != nil {
		return
	}
	if h.ended(from, c, number) {
		h.out = append(h.out, ActorStop{from, number})
	}
	h.bytes -= c.bytes - callBytes
	c.bytes, c.answer = callBytes, &ActorAnswer{Number: number, End: ActorGone, Why: "nobody waited for it any more"}
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
				h.out = append(h.out, ActorKept{u})
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
	h.open[m.Actor.ID] = append(h.open[m.Actor.ID], actorCallID{from, m.Number})
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
	h.out = append(h.out, ActorReply{to, m})
}

// ended notes that an actor does not do what a call asks for any more, and reports whether it did.
func (h *ActorHost) ended(from phalanx.NodeID, c *hostedCall, number uint64) bool {
	at := slices.Index(h.open[c.actor], actorCallID{from, number})
	if at < 0 {
		return false
	}
	if h.open[c.actor] = slices.Delete(h.open[c.actor], at, at+1); len(h.open[c.actor]) == 0 {
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
	for _, at := range slices.Clone(h.open[id]) {
		h.out = append(h.out, ActorStop(at))
		h.answer(at.From, h.call(at.From, at.Number), ActorAnswer{Number: at.Number, End: end, Why: why})
	}
}

// raise forgets the calls of a node that have lower numbers.
func (h *ActorHost) raise(from phalanx.NodeID, of *actorCallsOf, below uint64) {
	of.below = max(of.below, below)
	for len(of.order) > 0 && of.order[0] < of.below {
		h.over(from, of, of.order[0])
		of.order = of.order[1:]
	}
}

// over forgets a call.
func (h *ActorHost) over(from phalanx.NodeID, of *actorCallsOf, number uint64) {
	c := of.calls[number]
	h.stop(from, c, number)
	if id := c.answer.Large.Object; id != "" && c.deed == ActorDo {
		h.out = append(h.out, ActorSpare{id})
	}
	delete(of.calls, number)
	h.bytes -= c.bytes
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
				h.over(from, of, n)
			}
			delete(h.callers, from)
		}
	}
}
