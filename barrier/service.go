package barrier

import (
	"math"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/barrier/message"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/messages"
	"github.com/phalanx-go/phalanx/node/member"
	core "github.com/phalanx-go/phalanx/protocol/barrier"
)

// Name is the name of the service's actor, and of the feature that members have in the
// view.
const Name = "barriers"

// Settings apply to all barriers of a cluster, and are the same on every node.
type Settings struct {
	Managers int           // members that manage a barrier; default 3
	Keep     time.Duration // how long managers remember the entries of a barrier that is over, for Hosts and List; default 10 s
	Linger   time.Duration // how long they remember at least that it has fired, while a node is there that has entered it; default 10 min
}

// Service has a node take part in barriers: it belongs into cluster.Config.Services.
func Service() cluster.Service { return Settings{}.Service() }

// Service is Service with other settings than the default ones.
func (s Settings) Service() cluster.Service {
	return cluster.Service{Name: Name, Actor: func(n *cluster.Node) *actor.Props {
		o := &open{settings: s, calls: map[uint64]*asked{}, watchers: map[core.Key]*watch{}, holds: newHolds(n, n.System().Root)}
		return actor.PropsFromProducer(func() actor.Actor { return &service{node: n, open: o} })
	}}
}

// service is the actor. It owns the node's core, and the mailbox.
type service struct {
	node   *cluster.Node
	open   *open
	core   *core.Core
	wakeup actors.Wakeup
	self   phalanx.NodeID
	batch  core.Batch // events since the core's last step
	leaves bool       // the node is about to leave
}

// Receive turns messages into events.
func (s *service) Receive(c actor.Context) {
	if s.wakeup.Due(c) {
		s.node.WantLease()
		s.step(c, core.Tick{})
		return
	}
	s.want(c.Message())
	switch m := c.Message().(type) {
	case turn:
		s.takeTurn(c)
	case *actor.Started:
		s.start(c)
	case *actor.Stopping:
		s.end()
	case cluster.Viewed:
		s.viewed(c, m)
	case cluster.Leased:
		s.open.holds.leased(m.Until)
		s.step(c, core.Leased{Until: m.Until})
	case *messages.BarrierLetter:
		s.open.letters++
		from, to, letter, err := messages.BarrierFromProto(m)
		if err == nil && to == s.self {
			s.later(c, core.Heard{From: from, Message: letter})
		}
	case *messages.BarrierLook:
		s.takeTurn(c)
		seen := messages.BarriersSeenToProto(s.core.Seen())
		seen.Letters = s.open.letters
		c.Respond(seen)
	case *asked:
		s.ask(c, m)
	case *givenUp:
		s.giveUp(c, m)
	case *loosened:
		s.loosen(c, m.h)
	case *unwatch:
		s.unwatch(c, m)
	case core.Replied:
		s.step(c, m)
	case *message.Verdict:
		s.step(c, core.Replied{Key: core.Key{Name: m.Name, Generation: m.Generation}, Ask: m.Ask, Yes: m.Fire, N: m.N})
	case actors.Crash:
		panic(m)
	case *message.Enter:
		s.entered(c, m)
	case *message.Release:
		s.released(c, m)
	case *message.Leave:
		s.leaving(c, m)
	case *message.Remove:
		s.removing(c, m)
	case *message.Hosts:
		s.hosts(c, m)
	case *message.Watch:
		s.watching(c, m)
	default:
		actors.Unknown(c, "service of barriers")
	}
}

// want has the node keep its lease for as long as it has requests or waiting callers.
// A lease that comes asks for the next one.
func (s *service) want(message any) {
	switch message.(type) {
	case cluster.Leased:
		if s.open.busy() || s.core != nil && !s.core.Idle() {
			s.node.WantLease()
		}
	case cluster.Viewed, *actor.Started, *actor.Stopping, *actor.Stopped, *actor.Restarting, *actors.Woken, *messages.BarrierLook:
	default:
		s.node.WantLease()
	}
}

// start begins with a new core: barriers that this node managed come from the other
// managers, and the actor makes its callers' calls again.
func (s *service) start(c actor.Context) {
	s.core = core.NewCore(core.CoreConfig{Managers: s.open.settings.Managers, Keep: s.open.settings.Keep, Linger: s.open.settings.Linger, Past: &s.open.past, Attempts: uint64(time.Now().UnixNano())})
	var watches []core.Call
	for k, w := range s.open.watchers {
		watches = append(watches, core.Call{ID: s.open.next(), Kind: core.CallWatch, Key: k, Config: w.cfg})
	}
	var calls []core.Open
	for _, a := range s.open.calls {
		calls = append(calls, core.Open{Call: a.next(), GaveUp: a.why != nil})
	}
	for _, e := range s.open.held.Again(watches, calls) {
		s.step(c, e)
	}
	if v := s.node.View(); v.Has(s.node.ID()) {
		s.viewed(c, cluster.Viewed{Self: s.node.ID(), View: v})
	}
}

// end fails waiting calls: the node leaves.
func (s *service) end() {
	s.node.Remains(Name, math.MaxUint64, 0) // nobody hands over any more
	for id, a := range s.open.calls {
		delete(s.open.calls, id)
		a.stop()
		a.end(ending{cause: errLeft})
	}
	for k, w := range s.open.watchers {
		delete(s.open.watchers, k)
		if w.w != nil {
			w.w.close()
		}
	}
	for _, by := range s.open.held.Holders() {
		s.lose(by, phalanx.ErrClosed, errLeft)
	}
	s.open.holds.stop()
}

func (a *asked) stop() {
	if a.timer != nil {
		a.timer.Stop()
	}
}

func (s *service) viewed(c actor.Context, m cluster.Viewed) {
	s.holdsIn(c, m)
	s.self = m.Self
	s.step(c, member.ForBarriers(Name, m.Self, m.View))
}

// ask takes a call.
func (s *service) ask(c actor.Context, a *asked) {
	a.id = s.open.next()
	a.call.ID = a.id
	s.open.calls[a.id] = a
	s.begin(c, a)
}

// begin gives the core a call, or asks it for the Config first.
func (s *service) begin(c actor.Context, a *asked) {
	if a.lacksConfig() {
		s.later(c, a.next())
		return
	}
	s.open.held.Asked(a.call)
	if a.call.Kind == core.CallWatch {
		if a.watch == nil {
			a.watch = &watch{w: a.watcher, to: a.to}
		}
		a.watch.cfg = a.call.Config
		if s.open.watchers[a.call.Key] == nil { // a question may come before the answer to the Watch
			s.open.watchers[a.call.Key] = a.watch
		}
	}
	s.later(c, a.call)
}

func (s *service) giveUp(c actor.Context, g *givenUp) {
	if s.open.calls[g.id] != g.asked {
		return
	}
	g.why = g.cause
	s.step(c, core.GiveUp{ID: g.id})
	if !s.core.Waits(g.id) { // or the core did not know it
		s.finish(c, g.id, ending{cause: g.cause})
	}
}

// given ends a call that was given up.
func (s *service) given(c actor.Context, o core.GivenUp) {
	a := s.open.calls[o.ID]
	if a == nil {
		return
	}
	s.open.held.GivenUp(a.call, o)
	s.finish(c, o.ID, ending{given: o, cause: a.why})
}

// finish ends a call. Its caller is told before the core goes on: a panic there does
// not have it wait in vain.
func (s *service) finish(c actor.Context, id uint64, e ending) {
	a := s.open.calls[id]
	if a == nil {
		return
	}
	delete(s.open.calls, id)
	a.stop()
	e.done.Config = a.call.Config
	waits := a.taken.CompareAndSwap(false, true) // its caller does, still
	key := a.call.Key
	holds := e.cause == nil && s.open.held.Done(a.call, e.done, a.hold)
	if holds {
		if waits && a.hold != nil {
			s.open.holds.add(a.hold)
		}
		if s.leaves && a.hold != nil {
			defer s.loseAll(c, errLeaves)
		}
	}
	refused := e.done.Verdict == core.Mismatch || e.bad != nil
	gone := a.watch != nil && !s.open.watched(key, a.watch, waits && e.cause == nil && !refused)
	if waits {
		a.end(e)
	}
	if gone && !refused {
		s.step(c, core.Call{Kind: core.CallUnwatch, Key: key, Config: a.call.Config})
	}
	if holds && !waits {
		by, _ := s.open.held.Holder(key, a.call.Entry)
		s.let(c, by)
	}
}

func (s *service) unwatch(c actor.Context, m *unwatch) {
	m.w.close()
	if w := s.open.watchers[m.key]; w != nil && w.w == m.w && !s.open.unwatched(m.key) {
		s.step(c, core.Call{Kind: core.CallUnwatch, Key: m.key, Config: m.cfg})
	}
}

// step gives the core an event, after all earlier events.
func (s *service) step(c actor.Context, e core.Event) {
	if len(s.batch) > 0 {
		s.batch, e = nil, append(s.batch, e)
	}
	s.carryOut(c, s.core.Step(s.node.Now(), e))
	s.hold()
	s.remains()
}

// hold has the node count the core's memory, if that has changed.
func (s *service) hold() {
	m := s.core.Memory()
	if by := max(m-s.open.counted, s.open.counted-m); by > max(4<<10, s.open.counted/16) || m == 0 && by > 0 {
		s.open.counted = m
		s.node.Holds(Name, int64(m))
		s.open.tidy(m)
	}
}

// remains has the node know how many barriers it has to hand over before it may leave, if that has
// changed.
func (s *service) remains() {
	if view, left := s.core.Remains(); view != s.open.view || left != s.open.left {
		s.open.view, s.open.left = view, left
		s.node.Remains(Name, view, left)
	}
}

// turn has the core take its step: it stands in the mailbox behind all messages that came
// before the first event of the batch.
type turn struct{}

// batchMost bounds a batch.
const batchMost = 1024

// later gives the core an event together with those that are in the mailbox already.
// The more there is to do, the more goes into one message to each node.
func (s *service) later(c actor.Context, e core.Event) {
	s.batch = append(s.batch, e)
	switch len(s.batch) {
	case 1:
		c.Send(c.Self(), turn{})
	case batchMost:
		s.takeTurn(c)
	}
}

func (s *service) takeTurn(c actor.Context) {
	if batch := s.batch; len(batch) > 0 {
		s.batch = nil
		s.step(c, batch)
	}
}

func (s *service) carryOut(c actor.Context, out []core.Output) {
	for _, o := range out {
		switch o := o.(type) {
		case core.Send:
			if pid, ok := s.node.ServiceOn(o.To, Name); ok {
				c.Send(pid, messages.BarrierToProto(s.self, o.To, o.Message))
			}
		case core.Done:
			if !s.joined(c, o) {
				s.finish(c, o.ID, ending{done: o})
			}
		case core.GivenUp:
			s.given(c, o)
		case core.Callback:
			s.callback(c, o)
		case core.Notice:
			s.tell(c, o)
		case core.Publish:
			s.publish(o)
		case core.TookOver:
			s.node.System().EventStream.Publish(actors.BarrierTookOver{Barrier: o.Key.String(), From: o.From, Entered: o.Standing.N, Took: o.Took})
		case core.Freed:
			s.open.held.Freed(o)
		case core.Lost:
			s.lose(s.open.held.Lost(o), phalanx.ErrAborted, errTaken)
		}
	}
	s.wake(c)
}

// wake has the core ticked when it wants to be.
func (s *service) wake(c actor.Context) {
	at, ok := s.core.Due()
	s.wakeup.Set(c, s.node.Now(), at, ok)
}

func (s *service) callback(c actor.Context, o core.Callback) {
	w := s.open.watchers[o.Key]
	switch {
	case w == nil:
	case w.to != nil:
		a := o.Asked
		c.RequestWithCustomSender(w.to, &message.Asked{Name: o.Key.Name, Generation: o.Key.Generation, Ask: a.Ask, Releasing: a.Releasing, Suggested: a.Suggest,
			Question: Question{Entry: a.Entry, WouldRelease: a.WouldRelease, Knee: a.Knee}}, c.Self())
	default:
		w.w.ask(c.ActorSystem().Root, c.Self(), o.Key, o.Asked)
	}
}

func (s *service) tell(c actor.Context, o core.Notice) {
	switch w := s.open.watchers[o.Key]; {
	case w == nil:
	case w.to != nil:
		c.Send(w.to, &message.Notified{Name: o.Key.Name, Generation: o.Key.Generation, Notice: notice(o.Happened)})
	default:
		w.w.tell(o.Happened)
	}
}

// publish puts the core's events on the event stream.
func (s *service) publish(o core.Publish) {
	k, h := o.Key.String(), o.Happened
	publish := s.node.System().EventStream.Publish
	switch h.What {
	case core.Entered:
		publish(actors.BarrierEntered{Barrier: k, Host: h.Entry.Host, Label: h.Entry.Label, Entered: h.N, Max: h.Max})
	case core.HasFired:
		publish(actors.BarrierFired{Barrier: k, Cause: h.Cause.String(), Entered: h.N, Max: h.Max, Missing: h.Missing, Absent: h.Absent, Lost: h.Lost, Took: h.After})
	case core.CameLate:
		publish(actors.BarrierLate{Barrier: k, Host: h.Entry.Host, Label: h.Entry.Label, After: h.After})
	case core.HolderExpired:
		publish(actors.BarrierExpired{Barrier: k, Host: h.Entry.Host, Label: h.Entry.Label, Cause: "timeout", Held: h.After})
	case core.HolderGone:
		publish(actors.BarrierExpired{Barrier: k, Host: h.Entry.Host, Label: h.Entry.Label, Cause: "its node is gone", Held: h.After})
	case core.WasRemoved:
		publish(actors.BarrierRemoved{Barrier: k, Entered: h.N, Max: h.Max})
	case core.HasEmptied:
		publish(actors.BarrierEmptied{Barrier: k, After: h.After})
	case core.KneeFound:
		publish(actors.BarrierKnee{Barrier: k, Entered: h.N, Max: h.Max, Absent: h.Absent, After: h.After})
	}
}
