package workflows

import (
	"encoding/binary"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/durable"
	flow "github.com/phalanx-go/phalanx/node/workflow"
)

// instance is an actor that lives on a node: what an ActorHost has others keep.
type instance struct {
	state uint64
	made  bool          // it has its first state
	until time.Duration // when it has done all that it was asked for
	over  bool
}

// Attempts ask these of actors, with ActorDo. Both answer the state before, with an object if the call names one. Without a name an attempt only claims the next version.
const (
	readState  = "read"
	writeState = "write"
)

// buried forgets an actor that is no more.
func (h *host) buried(id string) {
	if i := h.instances[id]; i != nil {
		i.over = true
	}
	delete(h.instances, id)
}

// dies has an actor end on its own.
func (h *host) dies(id, why string) {
	h.buried(id)
	h.actorsHere(flow.ActorDied{ID: id, Why: why})
}

// perform has an actor do what a call asks for, after all that it was asked for before. A call that nobody waits for any more may have
// its effect.
func (h *host) perform(e flow.ActorPerform) {
	c, call, life := e.Call, actorCallOf{e.From, e.Call.Number}, h.life
	once := carried{h.self, call}
	if h.carried[once] {
		h.Fail("(8) the call %d of %s to the actor %s is carried out twice", c.Number, e.From, c.Actor.ID)
	}
	h.carried[once] = true
	makes := c.Deed == flow.ActorMake || c.Deed == flow.ActorRestore
	if makes {
		h.instances[c.Actor.ID] = &instance{}
	}
	i := h.instances[c.Actor.ID]
	if i == nil {
		h.Fail("(8) %s is asked for %+v, and does not have the actor", h.p.Name(), c)
	}
	if h.R.IntN(200) == 0 && !h.calm {
		h.Met("fault: node takes no calls to its actors for a while")
		h.deaf = h.Now() + h.Upto(20*time.Second)
	}
	takes := h.Upto(10 * ms)
	if h.R.IntN(10) == 0 && !h.calm {
		takes += h.Upto(1500 * ms)
	}
	if h.R.IntN(200) == 0 && !h.calm {
		h.Met("workflow: actor takes long")
		takes += h.Upto(20 * time.Second)
	}
	h.queued[call] = false
	i.until = max(i.until, h.Now()) + takes
	h.later(i.until-h.Now(), func() {
		if life != h.life {
			return
		}
		stops := h.queued[call] && h.R.IntN(2) == 0
		delete(h.queued, call)
		end := func(a flow.ActorAnswer) {
			if life != h.life || i.over {
				return
			}
			a.Number = c.Number
			h.actorsHere(flow.ActorPerformed{From: e.From, Answer: a})
			if makes && a.End != flow.ActorDone {
				h.dies(c.Actor.ID, "it was not made")
			}
			h.mayDie(c.Actor.ID, i)
		}
		switch {
		case i.over:
		case stops:
			end(flow.ActorAnswer{End: flow.ActorFailed, Why: "nobody waits for it"})
		default:
			h.carryOut(i, c, end)
		}
	})
}

// mayDie has an actor panic now and then, some time after it was used.
func (h *host) mayDie(id string, i *instance) {
	if h.calm || h.R.IntN(20) > 0 {
		return
	}
	h.later(h.Upto(300*ms), func() {
		if !i.over && !h.calm && h.instances[id] == i {
			h.Met("workflow: actor dies")
			h.dies(id, "it has panicked")
		}
	})
}

// carryOut does what a call asks for.
func (h *host) carryOut(i *instance, c flow.ActorCall, end func(flow.ActorAnswer)) {
	fails := func(why string) { end(flow.ActorAnswer{End: flow.ActorFailed, Why: why}) }
	begins := func(b []byte) {
		i.state, i.made = binary.BigEndian.Uint64(b), true
		h.versions[c.Actor] = i.state
		end(flow.ActorAnswer{End: flow.ActorDone})
	}
	switch c.Deed {
	case flow.ActorMake, flow.ActorRestore:
		switch {
		case h.p.Refuses():
			fails("the node is leaving")
		case !h.calm && h.R.IntN(20) == 0:
			h.Met("workflow: node lacks the kind of an actor")
			end(flow.ActorAnswer{End: flow.ActorLacks, Why: "it has no such actors"})
		case c.Large.Object == "":
			begins(c.Bytes)
		default:
			h.has.Object(flow.RunOf(c.Actor.ID), c.Large.Object, false)
			h.get(c.Large.Object, func(b []byte, gone bool) {
				if gone {
					fails("nobody has the snapshot")
					return
				}
				begins(b)
			})
		}
	case flow.ActorDo:
		h.isAt(i, c, c.Actor)
		if !h.calm && h.R.IntN(30) == 0 {
			fails("the actor says that it failed")
			return
		}
		was := stateBytes(i.state)
		if c.Name == writeState {
			i.state = binary.BigEndian.Uint64(c.Bytes)
			h.versions[movedBy(c)] = i.state
		}
		if c.Object == "" {
			end(flow.ActorAnswer{End: flow.ActorDone, Bytes: was})
			return
		}
		h.answerLarge(c, was, end)
	case flow.ActorSave:
		h.isAt(i, c, movedBy(c))
		h.Met("workflow: snapshot of an actor")
		h.answerLarge(c, stateBytes(i.state), end)
	default:
		h.Fail("%s is asked for %+v", h.p.Name(), c)
	}
}

// answerLarge answers a call with an object.
func (h *host) answerLarge(c flow.ActorCall, b []byte, end func(flow.ActorAnswer)) {
	if h.p.Refuses() {
		end(flow.ActorAnswer{End: flow.ActorFailed, Why: "the node is leaving"})
		return
	}
	h.has.Object(flow.RunOf(c.Actor.ID), c.Object, false)
	if err := h.store.put(h, c.Object, b); err != nil {
		end(flow.ActorAnswer{End: flow.ActorFailed, Why: err.Error()})
		return
	}
	end(flow.ActorAnswer{End: flow.ActorDone, Large: flow.Ref{Object: c.Object, Meta: phalanx.Meta{Size: int64(len(b))}, Digest: durable.DigestOf(b)}})
}

func stateBytes(state uint64) []byte { return binary.BigEndian.AppendUint64(nil, state) }

// movedBy returns the version at which an actor is once a call to it has begun.
func movedBy(c flow.ActorCall) flow.ActorAt {
	at := c.Actor
	if c.By != "" {
		at.By, at.Version = c.By, at.Version+1
	}
	return at
}

// isAt checks that an actor has the state that the version has been given.
func (h *host) isAt(i *instance, c flow.ActorCall, at flow.ActorAt) {
	if want := h.versions[at]; !i.made || i.state != want {
		h.Fail("(8) %+v finds the state %x, and that of %+v was %x", c, i.state, at, want)
	}
}

// carried is a call that a node has carried out.
type carried struct {
	on   phalanx.NodeID
	call actorCallOf
}
