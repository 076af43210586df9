package workflows

import (
	"fmt"
	"slices"

	"github.com/phalanx-go/phalanx"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// actorCallOf is a call to an actor, as the node knows it that gets it.
type actorCallOf struct {
	from   phalanx.NodeID
	number uint64
}

// actorAsk is a call of this node to an actor.
type actorAsk struct {
	to   phalanx.NodeID
	then func(flow.ActorAnswer) // nil: nobody waits for the answer
}

// noActors begins an incarnation: the actors of the one before are gone, and so are its calls.
func (h *host) noActors(self phalanx.NodeID) {
	h.actorCaller, h.calling, h.called = flow.NewActorCaller(), map[uint64]*actorAsk{}, map[phalanx.NodeID]uint64{}
	h.actorHost, h.instances, h.queued = flow.NewActorHost(self), map[string]*instance{}, map[actorCallOf]bool{}
}

// askActor calls an actor, and returns the number of the call.
func (h *host) askActor(c flow.ActorCall, then func(flow.ActorAnswer)) uint64 {
	h.number++
	c.Number = h.number
	h.calling[c.Number] = &actorAsk{to: c.Actor.Node, then: then}
	h.actorCalls(flow.ActorAsk{To: c.Actor.Node, Call: c})
	return c.Number
}

// unaskActor says that nobody waits for a call any more, nor reads its answer.
func (h *host) unaskActor(number uint64) {
	delete(h.calling, number)
	h.actorCalls(flow.ActorUnasked{Number: number})
}

// actorCalls gives the calls to actors an event, and carries out its effects.
func (h *host) actorCalls(ev flow.ActorCallerEvent) {
	if h.actorCaller == nil {
		return
	}
	for _, e := range h.actorCaller.Step(h.p.Now(), ev) {
		switch e := e.(type) {
		case flow.ActorSend:
			if c, is := e.Letter.(flow.ActorCall); is {
				if c.Number <= h.called[e.To] {
					h.Met("workflow: actor call repeated")
				}
				h.called[e.To] = max(h.called[e.To], c.Number)
			}
			h.send(e.To, e.Letter)
		case flow.ActorEnded:
			k := h.calling[e.Answer.Number]
			if k == nil {
				h.Fail("(8) the call %d of %s to an actor ends twice", e.Answer.Number, h.p.Name())
			}
			delete(h.calling, e.Answer.Number)
			switch {
			case e.Answer.End == flow.ActorSilent:
				h.Met("workflow: actor call without an answer")
			case e.Answer.End == flow.ActorGone && !slices.Contains(h.view.Nodes, k.to):
				h.Met("workflow: actor call to a node that has left")
			}
			if k.then != nil {
				h.post(func() { k.then(e.Answer) })
			}
		}
	}
}

// actorsHere gives the actors of the node an event, and carries out its effects.
func (h *host) actorsHere(ev flow.ActorHostEvent) {
	if h.actorHost == nil {
		return
	}
	for _, e := range h.actorHost.Step(h.p.Now(), ev) {
		switch e := e.(type) {
		case flow.ActorPerform:
			h.perform(e)
		case flow.ActorStop:
			h.Met("workflow: actor call withdrawn")
			if _, is := ev.(flow.Tick); is {
				h.Met("workflow: actor call stopped that is not repeated")
			}
			if _, waits := h.queued[actorCallOf{e.From, e.Number}]; waits {
				h.queued[actorCallOf{e.From, e.Number}] = true
			}
		case flow.ActorReply:
			h.send(e.To, e.Answer)
		case flow.ActorDrop:
			if _, is := ev.(flow.ActorCalled); is {
				h.Met("workflow: actor discarded")
			} else {
				h.Met("workflow: actor ends with its run")
			}
			h.buried(e.ID)
		case flow.ActorKept:
			if _, is := ev.(flow.Tick); is {
				h.Met("workflow: node says again of which runs it has actors")
			}
			h.local(flow.Local{Event: core.Kept(e)})
		case flow.ActorSpare:
			h.has.NoObject(e.Object)
			h.store.delete(e.Object)
		}
	}
}

// runs returns of which runs the node has something.
func (h *host) runs() []core.UID {
	return slices.Concat(h.has.Runs(), h.actorHost.Runs())
}

// census returns of which runs the node has something, or only is that if it has something of it.
func (h *host) census(only core.UID) []core.UID {
	switch {
	case only.IsZero():
		return h.runs()
	case h.has.Of(only) || h.actorHost.Of(only):
		return []core.UID{only}
	}
	return nil
}

// actorsLeft names what the node has of actors that is over once all attempts are, or returns "".
func (h *host) actorsLeft() string {
	if h.actorHost == nil {
		return ""
	}
	switch runs := h.actorHost.Runs(); {
	case h.actorCaller.Busy() || len(h.calling) > 0:
		return fmt.Sprintf("%d calls of %s to actors have not ended", len(h.calling), h.p.Name())
	case h.actorHost.Busy() || len(h.queued) > 0:
		return "an actor on " + h.p.Name() + " does what a call asks for"
	case runs == nil && len(h.instances) > 0:
		return fmt.Sprintf("%d actors on %s go on that nobody knows of", len(h.instances), h.p.Name())
	}
	return ""
}
