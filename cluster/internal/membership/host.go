package membership

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/internal/logging"
	"github.com/phalanx-go/phalanx/messages"
	"github.com/phalanx-go/phalanx/node/member"
	"github.com/phalanx-go/phalanx/protocol/join"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// actorName is the name by which members find each other's membership.
const actorName = "membership"

// gatherFor is how long the actor waits for more replicas that are in sync.
const gatherFor = 10 * time.Millisecond

// Messages from inside the node.
type (
	enter struct {
		ctx   context.Context // of the request
		seeds []string
	}
	answered struct { // by a seed
		seed     string
		num      uint64
		answer   join.Answer
		view     view.View
		replaces phalanx.NodeID
		err      error
	}
	propose  struct{ view.Command }
	broken   struct{ address string }
	formAnew struct {
		force bool
		done  chan<- formed // capacity 1
	}
	gather struct{} // some replicas are in sync
	want   struct{}
	look   struct{}
)

// host is the state that outlives an instance of the actor. Only the actor uses it.
type host struct {
	m    *Membership
	core *view.Core
	book book
	todo []view.Effect // in order

	join    *join.Core
	asking  context.Context     // of the Join that is under way
	entered bool                // the view has the node, and the core that joins may not know it yet
	seeds   map[string]answered // the last answer of each
	forming []chan<- formed     // callers that wait for the result of a Recover
	lost    string              // why nothing is decided, for people; "": it is

	// stepping is true while the core is running, and for ever if it panicked.
	stepping bool
}

// instance is the actor.
type instance struct {
	*host
	wakeup    actors.Wakeup
	gathering time.Duration // until then it gathers replicas that are in sync; 0: it does not
	over      bool
}

// Receive turns messages into events.
func (a *instance) Receive(c actor.Context) {
	now := a.m.cfg.Clock()
	defer a.arm(c)
	if a.wakeup.Due(c) {
		a.woken(now)
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
		if a.gathering == 0 {
			a.gathering = now + gatherFor
		}
	case actors.Crash:
		panic(m)
	case enter:
		a.asking, a.seeds = m.ctx, map[string]answered{}
		a.join = join.New(join.Config{Self: a.m.cfg.Self.ID, Seeds: m.seeds, Members: a.m.cfg.Members, AskFor: askFor, Again: a.m.cfg.Again})
		a.entered = a.core.View().Has(a.m.cfg.Self.ID) // the cluster has let it in before it asked
		a.joining(join.Start{})
	case answered:
		a.seeds[m.seed] = m
		a.joining(join.Answered{Seed: m.seed, Num: m.num, Answer: m.answer, Err: m.err})
		a.refused()
		a.forget()
	case want:
		a.step(view.Want{Now: now})
	case look:
		a.tick(now)
	case propose:
		a.step(view.Propose{Command: m.Command, Now: now})
	case formAnew:
		a.forming = append(a.forming, m.done)
		a.step(view.Recover{Force: m.force, Now: now})
	case broken:
		a.joining(join.Broken{})
		if node, ok := a.book.member(m.address); ok {
			a.step(view.PeerBroken{Node: node, Now: now})
		}
	case *messages.JoinRequest:
		c.Respond(a.welcome(m))
	case *messages.Carried:
		a.bring(m, now)
	case *messages.Raft, *messages.PushView, *messages.Beat, *messages.BeatReply, *messages.Halt, *messages.Halted, *messages.Forward:
		a.hear(c, m.(proto.Message), now)
	}
}

// woken does all work that is due.
func (a *instance) woken(now time.Duration) {
	if at, ok := a.asks(); ok && at <= now {
		a.joining(join.Tick{})
	}
	if a.gathering != 0 && a.gathering <= now {
		a.gathering = 0
		if synced := a.m.takeSynced(); len(synced) > 0 {
			a.step(view.Propose{Command: view.InSync{Shards: synced}, Now: now})
		}
	}
	if a.due() <= now {
		a.tick(now)
	}
}

// asks returns when seeds are asked next.
func (a *instance) asks() (at time.Duration, ok bool) {
	if a.asking == nil || a.asking.Err() != nil {
		return 0, false
	}
	return a.join.Due()
}

// due returns when the core is to hear of the time.
func (a *instance) due() time.Duration {
	a.stepping = true
	at := a.core.Due()
	a.stepping = false
	return at
}

// arm has it woken when something is due.
func (a *instance) arm(c actor.Context) {
	if a.stepping || a.over {
		return
	}
	if a.entered {
		a.entered = false
		a.joining(join.Viewed{Cluster: a.core.View().Cluster, Members: len(a.core.View().Members)})
	}
	at := a.due()
	if asks, ok := a.asks(); ok {
		at = min(at, asks)
	}
	if a.gathering != 0 {
		at = min(at, a.gathering)
	}
	now := a.m.cfg.Clock()
	a.wakeup.Set(c, now, max(at, now+time.Millisecond), true)
}

func (a *instance) tick(now time.Duration) { a.step(view.Tick{Suspects: a.suspects(), Now: now}) }

// suspects returns the voters that this node suspects.
func (a *instance) suspects() (out []phalanx.NodeID) {
	if a.m.cfg.Suspects == nil {
		return nil
	}
	for _, id := range a.core.View().Voters {
		if a.m.cfg.Suspects(id) {
			out = append(out, id)
		}
	}
	return out
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
		if a.m.cfg.OnHeard != nil {
			a.m.cfg.OnHeard(phalanx.NodeID(from.GetFrom()))
		}
	}
	a.step(ev)
}

// welcome gives a node that wants to join this node's state, and if this is a member the
// view, which tells the other node the members to ask.
func (a *instance) welcome(m *messages.JoinRequest) *messages.JoinReply {
	asks, common, by, err := messages.JoinRequestFromProto(m)
	if err == nil {
		if why := a.m.cfg.Common.Admit(common); why != nil {
			err = a.m.fail("join", phalanx.ErrRefused, why)
		}
	}
	if err == nil {
		a.m.cfg.Log.WithField(logging.Peer, asks.ID).Debug("a node asks to join")
		a.joining(join.Asked{By: by, At: asks.Control})
	}
	says, v := member.Welcome(a.join.Answer(), by, a.core.View())
	says.Stuck = a.lost
	return messages.JoinReplyToProto(says, v, err)
}

// joining gives the core that joins an event, and carries out its effects.
func (a *instance) joining(ev join.Event) {
	now := a.m.cfg.Clock()
	for _, e := range a.join.Step(now, ev) {
		switch e := e.(type) {
		case join.Ask:
			a.m.inquireSoon(a.asking, e, a.join.Answer())
		case join.Boot:
			a.step(view.Boot{Now: now, Restarts: a.m.cfg.Restarts})
		case join.Enter:
			from := a.seeds[e.Seed]
			a.step(view.Learn{From: from.answer.From, View: from.view, Now: now})
			a.step(view.Propose{Command: view.AddMember{Member: a.m.cfg.Self, Common: a.m.cfg.Common, Replaces: from.replaces}, Now: now})
		case join.Ready:
			a.m.set(func() { a.m.ready = true })
		case join.Met:
			if a.m.cfg.OnMet != nil {
				a.m.cfg.OnMet(e.At, e.Cluster)
			}
		case join.Abandon:
			a.m.set(func() { a.m.failed = a.m.fail("join", phalanx.ErrUnavailable, ErrAnew) })
		}
	}
}

// refused ends the Join if all seeds refuse this node, or if its name is taken.
func (a *instance) refused() {
	n := 0
	for _, s := range a.seeds {
		if errors.Is(s.err, phalanx.ErrRefused) {
			n++
		}
		if taken := (refusal{}); errors.As(s.err, &taken) {
			a.m.set(func() { a.m.failed = a.m.fail("join", phalanx.ErrRefused, taken) })
			return
		}
	}
	if n > 0 && n == len(a.seeds) && n >= a.join.Seeds() {
		a.m.set(func() { a.m.failed = a.m.fail("join", phalanx.ErrRefused, errors.New(a.m.answers.String())) })
	}
}

// forget drops the answers of nodes that are no longer asked.
func (a *instance) forget() {
	maps.DeleteFunc(a.seeds, func(at string, _ answered) bool { return !a.join.Asks(at) })
	a.m.answers.forget(a.join.Asks)
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

// carryOut carries out the core's effects, in order. The next instance repeats an effect that
// panics: a view must not get lost.
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
		h.entered = h.entered || e.View.Has(cfg.Self.ID)
	case view.Lease:
		cfg.OnLease(e.Until)
	case view.Fenced:
		h.m.fence()
	case view.Lead:
		h.m.leader.Store(e.Leader)
		cfg.Log.WithField(logging.Peer, e.Leader).Debugf("the view has a leader of term %d", e.Term)
	case view.Majority:
		h.lost = ""
		if e.Lost {
			h.lost = "the majority of its voters is lost: " + actors.MissingVoters(e.Voters, e.Missing)
		}
		if cfg.OnMajority != nil {
			cfg.OnMajority(e)
		}
	case view.Unanswered:
		if cfg.OnUnanswered != nil {
			cfg.OnUnanswered(e.Node)
		}
	case view.Formed:
		h.recovered(formed{view: e.View})
	case view.NotFormed:
		h.recovered(formed{err: e.Err})
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
		if by, ok := h.via(to, e); ok {
			cfg.System.Root.Send(cfg.Remote.PID(by, actorName), messages.CarriedToProto(to, m))
			return
		}
		if address, ok := h.book.at[to]; ok {
			if _, asks := e.(view.SendBeat); asks && cfg.OnAsked != nil {
				cfg.OnAsked(to)
			}
			cfg.System.Root.RequestWithCustomSender(cfg.Remote.PID(address, actorName), m, h.m.pid)
		}
	}
}

// via returns the address of the member that relays messages to a node to which the link
// fails. Without its lease an owner would answer no request, and without the newest view it
// has none, although all others reach it. The core may name that member itself.
func (h *host) via(to phalanx.NodeID, e view.Effect) (address string, ok bool) {
	var by phalanx.NodeID
	if b, beats := e.(view.SendBeat); beats && b.By != "" {
		by = b.By
	} else if h.m.cfg.Via != nil {
		by, _ = h.m.cfg.Via(to)
	}
	address, ok = h.book.at[by]
	return address, ok
}

// bring takes a message that another member has relayed, or brings it to its receiver. It has no
// sender, as that would be taken for the address of its sender.
func (a *instance) bring(c *messages.Carried, now time.Duration) {
	cfg := &a.m.cfg
	to, by, m, err := messages.CarriedFromProto(c)
	does := member.OfView(cfg.Self.ID, to, by != "")
	if err == nil && does == member.Drop && to == cfg.Self.ID {
		err = errors.New("the message is for this node, but no relay has brought it")
	}
	if err != nil {
		cfg.Log.WithError(err).Warn("refused a message about the view")
		return
	}
	switch address, ok := a.book.at[to]; {
	case does == member.Take:
		a.brought(by, m, now)
	case does == member.Pass && ok:
		c := messages.CarriedToProto(to, m)
		c.By = string(cfg.Self.ID)
		cfg.System.Root.Send(cfg.Remote.PID(address, actorName), c)
	}
}

// brought takes a message that by has relayed. The answer goes by it as well: this node may
// not have noticed yet that the link fails.
func (a *instance) brought(by phalanx.NodeID, m proto.Message, now time.Duration) {
	ev, err := messages.AgreeFromProto(m, now)
	if err != nil {
		return // was checked
	}
	if from, ok := m.(interface{ GetFrom() string }); ok && a.m.cfg.OnBrought != nil {
		a.m.cfg.OnBrought(phalanx.NodeID(from.GetFrom()), by)
	}
	a.step(ev)
}
