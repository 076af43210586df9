package workflow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// cast are the actors of workflows that live on the node, in one incarnation, and the calls of its attempts to actors anywhere. The
// service's actor owns it.
type cast struct {
	calls *flow.ActorCaller
	waits map[uint64]*actorWait
	host  *flow.ActorHost
	here  map[string]*actor.PID // instances, by the ID of the actor
	doing map[doingID]context.CancelCauseFunc
}

type doingID struct {
	from   phalanx.NodeID
	number uint64
}

func newCast(self phalanx.NodeID) *cast {
	return &cast{calls: flow.NewActorCaller(), waits: map[uint64]*actorWait{}, host: flow.NewActorHost(self), here: map[string]*actor.PID{}, doing: map[doingID]context.CancelCauseFunc{}}
}

// actorWait is a call for which an attempt waits; done is nil if none does.
type actorWait struct {
	call flow.ActorCall
	done chan flow.ActorAnswer
}

// The messages of attempts and instances to the service's actor.
type (
	actorAsks struct {
		life *incarnation
		wait *actorWait
	}
	actorUnasks struct {
		life *incarnation
		wait *actorWait
	}
	actorReads struct { // the attempt has read a large answer
		life   *incarnation
		number uint64
	}
	actorTells struct { // what an instance has done, or that it is no more
		life  *incarnation
		event flow.ActorHostEvent
	}
)

// nodeStage is the stage of the attempts of an incarnation.
type nodeStage struct{ life *incarnation }

var _ stage = nodeStage{}

func (s nodeStage) call(ctx context.Context, c flow.ActorCall) flow.ActorAnswer {
	w := &actorWait{call: c, done: make(chan flow.ActorAnswer, 1)}
	s.send(actorAsks{s.life, w})
	select {
	case a := <-w.done:
		return a
	case <-ctx.Done():
		s.send(actorUnasks{s.life, w})
		return flow.ActorAnswer{}
	}
}

func (s nodeStage) read(a flow.ActorAnswer) { s.send(actorReads{s.life, a.Number}) }

func (s nodeStage) discard(a flow.ActorAt) {
	s.send(actorAsks{s.life, &actorWait{call: flow.ActorCall{Deed: flow.ActorDiscard, Actor: a}}})
}

func (s nodeStage) tells(e actors.Event) {
	s.life.o.settings.Log.Debug(e.String())
	s.life.o.node.System().EventStream.Publish(e)
}

func (s nodeStage) send(m any) { s.life.o.node.System().Root.Send(s.life.o.pid, m) }

func (nodeStage) patience() time.Duration { return flow.MakingPatience }

// places implements stage: actors live where tasks run, but not where a node leaves.
func (s nodeStage) places() []phalanx.NodeID {
	nodes, leaving := s.life.o.node.View().IDs(Name)
	return slices.DeleteFunc(nodes, func(n phalanx.NodeID) bool { return slices.Contains(leaving, n) })
}

// acts takes the messages of attempts and instances; false: it is another message.
func (s *service) acts(c actor.Context) bool {
	switch m := c.Message().(type) {
	case actorAsks:
		if m.life == s.open.life {
			s.open.number++
			m.wait.call.Number = s.open.number
			m.life.cast.waits[s.open.number] = m.wait
			s.calling(c, flow.ActorAsk{To: m.wait.call.Actor.Node, Call: m.wait.call})
		}
	case actorUnasks:
		if n := m.wait.call.Number; m.life == s.open.life { // it may have ended, with an answer that nobody reads
			delete(m.life.cast.waits, n)
			s.calling(c, flow.ActorUnasked{Number: n})
		}
	case actorReads:
		if m.life == s.open.life {
			s.calling(c, flow.ActorUnasked{Number: m.number})
		}
	case actorTells:
		if m.life == s.open.life {
			s.hosting(c, m.event)
		}
	default:
		return false
	}
	return true
}

// calling gives the calls of the node's attempts an event, and carries out its effects.
func (s *service) calling(c actor.Context, ev flow.ActorCallerEvent) {
	l := s.open.life
	if l == nil {
		return
	}
	for _, e := range l.cast.calls.Step(s.node.Now(), ev) {
		switch e := e.(type) {
		case flow.ActorSend:
			s.post(c, e.To, e.Letter)
		case flow.ActorEnded:
			if w := l.cast.waits[e.Answer.Number]; w != nil {
				delete(l.cast.waits, e.Answer.Number)
				if w.done != nil {
					w.done <- e.Answer
				}
			}
		}
	}
	s.wake(c)
}

// hosting gives the actors here an event, and carries out its effects.
func (s *service) hosting(c actor.Context, ev flow.ActorHostEvent) {
	l := s.open.life
	if l == nil {
		return
	}
	switch ev := ev.(type) {
	case flow.ActorPerformed:
		l.cast.done(doingID{ev.From, ev.Answer.Number}, nil)
	case flow.ActorDied:
		delete(l.cast.here, ev.ID)
	}
	for _, e := range l.cast.host.Step(s.node.Now(), ev) {
		switch e := e.(type) {
		case flow.ActorPerform:
			s.perform(c, e)
		case flow.ActorStop:
			l.cast.done(doingID{e.From, e.Number}, errUnawaited)
		case flow.ActorReply:
			s.post(c, e.To, e.Answer)
		case flow.ActorDrop:
			l.cast.drop(c, e.ID)
		case flow.ActorKept:
			s.member(c, flow.Local{Event: core.Kept(e)})
		case flow.ActorSpare:
			l.dismiss(e.Object)
		}
	}
	s.wake(c)
}

var errUnawaited = &phalanx.Error{Op: "call", Kind: phalanx.ErrCanceled, Err: errors.New("the attempt does not wait for the call any more, or nobody can use the actor")}

// done ends the context of what an instance does.
func (k *cast) done(id doingID, cause error) {
	if cancel := k.doing[id]; cancel != nil {
		cancel(cause)
		delete(k.doing, id)
	}
}

// drop ends an instance. What it does still has been answered.
func (k *cast) drop(c actor.Context, id string) {
	if pid := k.here[id]; pid != nil {
		delete(k.here, id)
		c.Stop(pid)
	}
}

// perform has an instance do what a call asks for. It makes the instance first, if the call does.
func (s *service) perform(c actor.Context, e flow.ActorPerform) {
	l, m := s.open.life, e.Call
	pid := l.cast.here[m.Actor.ID]
	if m.Deed == flow.ActorMake || m.Deed == flow.ActorRestore {
		kind := s.open.settings.Actors.find(m.Name)
		if kind == nil {
			s.hosting(c, flow.ActorPerformed{From: e.From, Answer: flow.ActorAnswer{Number: m.Number, End: flow.ActorLacks, Why: "it has no actors of the kind " + m.Name}})
			s.hosting(c, flow.ActorDied{ID: m.Actor.ID, Why: "it was not made"})
			return
		}
		var err error
		if pid, err = s.spawn(c, l, kind, m); err != nil {
			s.hosting(c, flow.ActorPerformed{From: e.From, Answer: flow.ActorAnswer{Number: m.Number, End: flow.ActorFailed, Why: err.Error()}})
			s.hosting(c, flow.ActorDied{ID: m.Actor.ID, Why: "it was not made"})
			return
		}
		l.cast.here[m.Actor.ID] = pid
	}
	ctx, cancel := context.WithCancelCause(l.ctx)
	l.cast.doing[doingID{e.From, m.Number}] = cancel
	c.Send(pid, performing{ctx, e.From, m})
}

// spawn makes an instance.
func (s *service) spawn(c actor.Context, l *incarnation, kind *actorKind, m flow.ActorCall) (*actor.PID, error) {
	root, self, id := c.ActorSystem().Root, c.Self(), m.Actor.ID
	tell := func(ev flow.ActorHostEvent) { root.Send(self, actorTells{l, ev}) }
	i := &instance{kind: kind, name: m.As, node: s.node, store: l.runner.store, notes: func(o phalanx.ObjectID) { l.keep(flow.RunOf(id), o, false) },
		ended: func(p performing, a flow.ActorAnswer) { tell(flow.ActorPerformed{From: p.from, Answer: a}) },
		died:  func(why string) { tell(flow.ActorDied{ID: id, Why: why}) }}
	props := actor.PropsFromProducer(func() actor.Actor { return i }, actor.WithMailbox(actor.UnboundedLockfree()))
	s.open.number++
	return root.SpawnNamed(s.open.guard.Guard(props), fmt.Sprintf("%s-actor-%d", Name, s.open.number))
}

// dropAll ends all instances.
func (k *cast) dropAll(root *actor.RootContext) {
	for _, pid := range k.here {
		root.Stop(pid)
	}
}

// dismiss deletes an object that nobody needs any more.
func (l *incarnation) dismiss(id phalanx.ObjectID) {
	l.has.with(func(b *flow.Belongings) { b.NoObject(id) })
	l.wait.Go(func() { l.drop(id) })
}

// endActors ends the instances, and waits for what they do.
func (l *incarnation) endActors(most time.Duration) {
	if len(l.cast.here) == 0 {
		return
	}
	root := l.o.node.System().Root
	var ends []*actor.Future
	for _, pid := range l.cast.here {
		ends = append(ends, root.StopFuture(pid))
	}
	if !endsWithin(most, func() {
		for _, f := range ends {
			_ = f.Wait() // it has stopped, or most is over
		}
	}) {
		l.o.settings.Log.Warnf("actors go on %v after the node has left: return when the context's Done is closed", most)
	}
}
