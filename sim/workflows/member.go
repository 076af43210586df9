package workflows

import (
	"cmp"
	"maps"
	"slices"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/messages"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// rebirth begins the life of an incarnation of the node.
func (h *host) rebirth(self phalanx.NodeID) {
	h.life++
	for _, a := range h.sortedAttempts() {
		h.unwish(a.wished)
		a.cancel()
	}
	clear(h.attempts)
	h.noActors(self)
	if h.self != "" {
		h.Met("workflow: node joins again with its objects")
		h.store.moved(h.self, self)
	}
	again := h.self != ""
	h.self = self
	disk := ""
	if h.keeper.disk != nil {
		disk = clusterOf(h.keeper.disk.Identity().Disk)
	}
	if h.has == nil {
		h.has = flow.NewBelongings()
	}
	h.findBlobs()
	if h.machine.temp {
		disk = "" // a checkpoint that only this one had would hold its run up for as long as a disk may be away
	}
	h.member = flow.NewMember(core.Offer{Slots: 3, Functions: functions, Disk: disk, Again: again})
}

// send sends a letter to the service of a node, which may be this one.
func (h *host) send(to phalanx.NodeID, letters any) {
	if to == h.self {
		h.post(func() { h.heard(to, letters) })
		return
	}
	h.Send(h.p, to, letter{letters})
}

// heard takes a letter of a node.
func (h *host) heard(from phalanx.NodeID, letter any) {
	c := h.keeper.controller
	switch m := letter.(type) {
	case core.Tell, core.Taken, core.Busy, core.Report, core.Beaten, core.Keeps, core.BlobWritten, core.Freed:
		if c != nil {
			h.post(func() { c.step(flow.Heard{From: from, Message: m.(core.Message)}) })
		}
	case core.Message:
		h.local(flow.Got{From: from, Message: m})
	case flow.WantRows:
		if c != nil && m.Epoch == c.t.epoch {
			h.soon(func() { c.have(from, m) })
		}
	case flow.HaveRows:
		h.local(flow.GotRows{From: from, Rows: m})
	case flow.Request:
		if c != nil {
			h.asked(c, flow.Asked{From: from, Request: m})
			return
		}
		h.send(from, flow.Elsewhere{Number: m.Number, Controller: h.follows.Node, Epoch: h.follows.Epoch, Disk: h.keeper.disk != nil})
	case flow.Withdrawn:
		if c != nil {
			h.post(func() { c.step(flow.Unasked{From: from, Number: m.Number}) })
		}
	case flow.Reply:
		h.call(flow.Replied{From: from, Reply: m})
	case flow.Elsewhere:
		h.call(flow.Redirected{From: from, Elsewhere: m})
	case flow.Restore:
		h.putAgain(from, m)
	case flow.Restored:
		h.restore(flow.Answered{From: from, Restored: m})
	case flow.Copy:
		h.copyAgain(from, m)
	case flow.Copied:
		h.copy(flow.CopyEnded{From: from, Copied: m})
	case flow.Which:
		h.which(from, m)
	case flow.These:
		h.copy(flow.Counted{From: from, These: m})
	case flow.ActorCall:
		if h.Now() >= h.deaf {
			h.actorsHere(flow.ActorCalled{From: from, Call: m})
		}
	case flow.ActorOver:
		h.actorsHere(flow.ActorLeft{From: from, Over: m})
	case flow.ActorAnswer:
		h.actorCalls(flow.ActorAnswered{From: from, Answer: m})
	default:
		h.Fail("%s hears a %T", h.p.Name(), m)
	}
}

// asked gives the controller a request. A workflow is put together of its form first.
func (h *host) asked(c *controller, m flow.Asked) {
	if start, is := m.Request.Call.(core.StartRun); is && start.Work == nil {
		w, err := workFrom(m.Request.Graph)
		if err != nil {
			h.Fail("the graph of a start: %v", err)
		}
		start.Work = w
		m.Request.Call, m.Request.Graph = start, nil
	}
	m.Full = h.full()
	h.post(func() { c.step(m) })
}

// local gives the executor an event, and carries out its effects.
func (h *host) local(ev flow.MemberEvent) {
	if h.member == nil {
		return
	}
	for _, e := range h.member.Step(h.p.Now(), ev) {
		switch e := e.(type) {
		case flow.Want:
			h.send(e.To, e.Letter)
		case flow.Follows:
			h.follows = e
			h.call(flow.Leads(e))
		case flow.Do:
			switch e := e.Effect.(type) {
			case core.RunAttempt:
				h.p.Want()
				h.run(e.Order)
			case core.CancelAttempt:
				if a := h.attempts[e.ID]; a != nil {
					a.cancel()
				}
			case core.ToController:
				h.send(e.To, e.Message)
			case core.Free:
				h.Met("workflow: run freed on a node")
				h.free(e.Runs)
			case core.SaveBlob:
				h.save(e)
			case core.Census:
				h.local(flow.Local{Event: core.Kept{Runs: h.census(e.Only)}})
			case core.EndProcess:
				h.Met("workflow: process ends itself")
				h.tracef("it ends: %s", e.Why)
				h.post(func() { h.Reboot(h.p) })
			default:
				h.Fail("%s is asked for %T", h.p.Name(), e)
			}
		}
	}
}

// attempt is an attempt on a node.
type attempt struct {
	h     *host
	life  uint64 // of the incarnation
	order core.Order
	stops bool // it was cancelled
	ended bool

	bytes            map[phalanx.ObjectID][]byte // of inputs that are objects
	values           []uint64                    // of the inputs
	missing, unsaved []core.Blob                 // inputs that cannot be had
	wished           uint64                      // the last object that was to be put again

	named  *flow.Sources
	refs   []flow.Ref                // that inputs name
	got    map[phalanx.ObjectID]bool // of refs
	sits   []*seat                   // actors that inputs hold
	seats  *flow.Seats               // decide about these, and about those that it makes; nil: it uses none yet
	asks   map[uint64]bool           // calls to actors that have not ended
	larges int                       // objects that calls may be answered with
	holds  flow.Actor                // that its output holds
}

func (h *host) sortedAttempts() []*attempt {
	return slices.SortedFunc(maps.Values(h.attempts), func(a, b *attempt) int {
		return cmp.Or(cmp.Compare(a.order.ID.Run.String(), b.order.ID.Run.String()), cmp.Compare(a.order.ID.Task, b.order.ID.Task),
			cmp.Compare(a.order.ID.Attempt.Epoch, b.order.ID.Attempt.Epoch), cmp.Compare(a.order.ID.Attempt.Number, b.order.ID.Attempt.Number))
	})
}

// run runs an attempt.
func (h *host) run(o core.Order) {
	if h.attempts[o.ID] != nil {
		h.Fail("(4) %+v begins twice on %s", o.ID, h.p.Name())
	}
	h.Met("workflow: attempt")
	h.tracef("attempt %+v of kind %d", o.ID, o.Kind)
	h.check.mayBegin(o, o.Of.(*messages.Job))
	a := &attempt{h: h, life: h.life, order: o, asks: map[uint64]bool{}}
	h.attempts[o.ID] = a
	takes := h.Upto(100 * ms)
	if h.R.IntN(8) == 0 && !h.calm {
		takes += h.Upto(1500 * ms)
	}
	h.later(takes, a.act)
}

// cancel has the attempt end soon. It may still have its effect.
func (a *attempt) cancel() {
	a.stops = true
	if a.wished != 0 && a.h.wishes[a.wished] != nil || len(a.asks) > 0 { // it waits for a disk that may be away for long, or for an actor
		a.h.later(a.h.Upto(20*ms), func() { a.end(core.AttemptEnded{Failed: "canceled"}) })
		return
	}
	if a.h.R.IntN(2) == 0 {
		a.h.later(a.h.Upto(20*ms), func() { a.end(core.AttemptEnded{Failed: "canceled"}) })
	}
}

// act gets the inputs, has outsiders see the effect, makes the output's object, and then ends.
func (a *attempt) act() {
	if a.ended {
		return
	}
	if a.order.Of.(*messages.Job).Call.Kind == messages.CallKeep {
		a.keep()
		return
	}
	a.inputs(a.orLack(func() {
		a.open()
		a.readSome(a.orLack(func() {
			a.sits = a.given()
			a.sit(a.sits, a.orLack(func() {
				ev, answer := a.h.outside.attempt(a)
				a.readSome(a.orLack(func() {
					a.h.later(a.h.Upto(10*ms), func() { a.pass(ev, answer, a.orLack(func() { a.finish(ev, answer) })) })
				}))
			}))
		}))
	}))
}

// orLack goes on with then unless the attempt lacks inputs, or objects that they name.
func (a *attempt) orLack(then func()) func() {
	return func() {
		if missing := a.lacking(); len(missing) > 0 {
			a.h.Met("workflow: attempt lacks inputs")
			a.end(core.AttemptEnded{Failed: "nobody has some inputs", Missing: missing, Unsaved: a.unsaved})
			return
		}
		then()
	}
}

func (a *attempt) end(ev core.AttemptEnded) {
	h := a.h
	if a.ended {
		return
	}
	a.ended = true
	h.unwish(a.wished)
	if a.life != h.life {
		return
	}
	delete(h.attempts, a.order.ID)
	a.rise(ev.Failed == "")
	ev.ID = a.order.ID
	h.local(flow.Local{Event: ev})
}
