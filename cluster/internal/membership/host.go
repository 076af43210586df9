package membership

import (
	"errors"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/internal/logging"
	"github.com/phalanx-go/phalanx/messages"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// actorName is under which members find each other's membership.
const actorName = "membership"

// gatherFor is how long one waits for more replicas that are in sync.
const gatherFor = 10 * time.Millisecond

// Messages from inside the node.
type (
	boot    struct{}
	learn   struct{ view.View }
	propose struct{ view.Command }
	broken  struct{ address string }
	gather  struct{} // some replicas are in sync
)

// host is what outlives an instance of the actor. Only the actor uses it.
type host struct {
	m    *Membership
	core *view.Core
	book book
	todo []view.Effect // in order

	// stepping is true while the core is running, and for ever if it panicked.
	stepping bool
}

// instance is the actor.
type instance struct {
	*host
	timers actors.Timers[timer]
	tickAt time.Duration // when the next tick comes; 0: it is not set

	gathering bool
	over      bool
}

type timer uint8

const (
	tick timer = iota
	gathered
)

// Receive turns messages into events.
func (a *instance) Receive(c actor.Context) {
	now := a.m.cfg.Clock()
	defer a.arm(c)
	if t, due := a.timers.Due(c); due {
		if t == tick {
			a.tickAt = 0
			a.step(view.Tick{Now: now})
			return
		}
		a.gathering = false
		if synced := a.m.takeSynced(); len(synced) > 0 {
			a.step(view.Propose{Command: view.InSync{Shards: synced}, Now: now})
		}
		return
	}
	switch m := c.Message().(type) {
	case *actor.Started:
		if a.stepping {
			a.m.cfg.Log.Error("the core of the view panicked, this node takes no part any more")
			a.m.fence()
			return
		}
		a.carryOut()
	case *actor.Stopping, *actor.Restarting:
		a.over = true
	case *actor.Stopped:
		if !a.m.stopped.Load() { // panicked too often
			a.m.fence()
		}
	case gather:
		if !a.gathering {
			a.gathering = true
			a.timers.Set(c, gathered, gatherFor)
		}
	case actors.Crash:
		panic(m)
	case boot:
		a.step(view.Boot{Now: now})
	case learn:
		a.step(view.Learn{View: m.View, Now: now})
	case propose:
		a.step(view.Propose{Command: m.Command, Now: now})
	case broken:
		if node, ok := a.book.member(m.address); ok {
			a.step(view.PeerBroken{Node: node, Now: now})
		}
	case *messages.JoinRequest:
		c.Respond(a.welcome(m))
	case *messages.Carried:
		a.bring(m)
	case *messages.Raft, *messages.PushView, *messages.Beat, *messages.BeatReply, *messages.Forward:
		a.hear(c, m.(proto.Message), now)
	}
}

// arm sets the timer of the next tick, unless one comes early enough.
func (a *instance) arm(c actor.Context) {
	if a.stepping || a.over {
		return
	}
	now := a.m.cfg.Clock()
	a.stepping = true
	due := a.core.Due()
	a.stepping = false
	at := max(due, now+time.Millisecond)
	if a.tickAt != 0 && a.tickAt <= at {
		return
	}
	a.tickAt = at
	a.timers.Set(c, tick, at-now)
}

// hear takes a message of another member.
func (a *instance) hear(c actor.Context, m proto.Message, now time.Duration) {
	ev, err := messages.AgreeFromProto(m, now)
	if err != nil {
		a.m.cfg.Log.WithField(logging.Address, c.Sender().GetAddress()).WithError(err).Warn("refused a message about the view")
		return
	}
	if from, ok := m.(interface{ GetFrom() string }); ok && c.Sender() != nil {
		a.book.heard(phalanx.NodeID(from.GetFrom()), c.Sender().GetAddress())
	}
	a.step(ev)
}

// welcome gives a node that wants to join the view, from which it knows whom to
// ask.
func (a *instance) welcome(m *messages.JoinRequest) *messages.JoinReply {
	member, err := messages.MemberFromProto(m.GetMember())
	v := a.core.View()
	if err == nil && !v.Has(a.m.cfg.Self.ID) {
		err = a.m.fail("join", phalanx.ErrUnavailable, errors.New("the seed is in no cluster itself yet"))
	}
	if err == nil {
		a.m.cfg.Log.WithField(logging.Peer, member.ID).Debug("a node asks to join")
	}
	return messages.JoinReplyToProto(v, err)
}

func (h *host) step(ev view.Event) {
	if h.stepping {
		return
	}
	h.stepping = true
	effects := h.core.Step(ev)
	h.stepping = false
	h.todo = append(h.todo, effects...)
	h.carryOut()
}

// carryOut does what the core wants, in order. What panics is done again by the
// next instance: a view must not get lost.
func (h *host) carryOut() {
	for len(h.todo) > 0 {
		h.do(h.todo[0])
		h.todo = h.todo[1:]
	}
}

func (h *host) do(e view.Effect) {
	cfg := &h.m.cfg
	switch e := e.(type) {
	case view.Publish:
		h.book.learn(e.View)
		h.m.publish(e.View)
	case view.Lease:
		cfg.OnLease(e.Until)
	case view.Fenced:
		h.m.fence()
	case view.Lead:
		h.m.leader.Store(e.Leader)
		cfg.Log.WithField(logging.Peer, e.Leader).Debugf("the view has a leader of term %d", e.Term)
	case view.Settled:
	case view.GaveUp:
		cfg.Log.WithField(logging.Cause, e.Command).Warn("a change of the view did not come about")
	case view.Reject:
		cfg.Log.WithField(logging.Peer, e.From).WithError(e.Err).Debug("refused a message about the view")
	default:
		to, m := messages.AgreeToProto(cfg.Self.ID, e)
		if m == nil {
			panic(fmt.Sprintf("membership: a %T is carried out nowhere", e))
		}
		if h.carried(to, m) {
			return
		}
		if address, ok := h.book.at[to]; ok {
			cfg.System.Root.RequestWithCustomSender(cfg.Remote.PID(address, actorName), m, h.m.pid)
		}
	}
}

// carried has another member bring a heartbeat, or its answer, to one to which the
// link fails: without its lease an owner would answer nobody, although all others
// reach it.
func (h *host) carried(to phalanx.NodeID, m proto.Message) bool {
	cfg := &h.m.cfg
	c, ok := messages.CarriedToProto(to, m)
	if !ok || cfg.Via == nil {
		return false
	}
	by, ok := cfg.Via(to)
	if !ok {
		return false
	}
	address, ok := h.book.at[by]
	if ok {
		cfg.System.Root.Send(cfg.Remote.PID(address, actorName), c)
	}
	return ok
}

// bring brings what is carried to whom it is for, itself: so it goes in no circles. It
// has no sender, as that would be taken for the address of who sent it.
func (h *host) bring(c *messages.Carried) {
	cfg := &h.m.cfg
	to, m, err := messages.CarriedFromProto(c)
	if err != nil {
		cfg.Log.WithError(err).Warn("refused a message about the view")
		return
	}
	if address, ok := h.book.at[to]; ok && to != cfg.Self.ID {
		cfg.System.Root.Send(cfg.Remote.PID(address, actorName), m)
	}
}
