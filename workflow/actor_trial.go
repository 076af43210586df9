package workflow

import (
	"context"
	"sync"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	flow "github.com/phalanx-go/phalanx/node/workflow"
)

// trialStage has the actors of a Trial, in this process. A call is carried out where it is made, one at a time.
type trialStage struct {
	kinds *ActorKinds
	store objects
	self  phalanx.NodeID

	mu   sync.Mutex
	next uint64
	host *flow.ActorHost
	here map[string]*instance
}

var _ stage = (*trialStage)(nil)

func newTrialStage(kinds *ActorKinds, store objects) *trialStage {
	s := &trialStage{kinds: kinds, store: store, self: "trial", here: map[string]*instance{}}
	s.host = flow.NewActorHost(s.self)
	s.host.Step(0, flow.Around{Self: s.self, Nodes: []phalanx.NodeID{s.self}})
	return s
}

func (s *trialStage) places() []phalanx.NodeID { return []phalanx.NodeID{s.self} }

func (s *trialStage) read(flow.ActorAnswer) {} // its actors keep their answers

func (s *trialStage) tells(actors.Event) {}

func (s *trialStage) discard(a flow.ActorAt) {
	s.call(context.Background(), flow.ActorCall{Deed: flow.ActorDiscard, Actor: a})
}

func (s *trialStage) call(ctx context.Context, c flow.ActorCall) (answer flow.ActorAnswer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	c.Number, c.Turn, c.Below = s.next, s.next, s.next
	todo := []flow.ActorHostEvent{flow.ActorCalled{From: s.self, Call: c}}
	for len(todo) > 0 {
		ev := todo[0]
		todo = todo[1:]
		for _, e := range s.host.Step(0, ev) {
			switch e := e.(type) {
			case flow.ActorPerform:
				todo = append(todo, s.perform(performing{ctx, e.From, e.Call})...)
			case flow.ActorReply:
				if answer = e.Answer; answer.End == flow.ActorWorks {
					answer.End, answer.Why = flow.ActorSilent, "it has too much to do"
				}
			case flow.ActorDrop:
				s.here[e.ID].close()
				delete(s.here, e.ID)
			}
		}
	}
	return answer
}

// perform has an instance do something, and returns what the host has to hear.
func (s *trialStage) perform(p performing) (all []flow.ActorHostEvent) {
	id := p.call.Actor.ID
	if p.call.Deed == flow.ActorMake || p.call.Deed == flow.ActorRestore {
		kind := s.kinds.find(p.call.Name)
		if kind == nil {
			return []flow.ActorHostEvent{
				flow.ActorPerformed{From: p.from, Answer: flow.ActorAnswer{Number: p.call.Number, End: flow.ActorLacks, Why: "it has no actors of the kind " + p.call.Name}},
				flow.ActorDied{ID: id, Why: "it was not made"}}
		}
		s.here[id] = &instance{kind: kind, name: p.call.As, store: s.store}
	}
	i := s.here[id]
	err := guarded(func() error {
		all = append(all, flow.ActorPerformed{From: p.from, Answer: i.perform(p)})
		return nil
	})
	switch {
	case err != nil:
		all = append(all, flow.ActorDied{ID: id, Why: "it has panicked: " + err.Error()})
	case i.made:
		return all
	default:
		all = append(all, flow.ActorDied{ID: id, Why: "it could not be made"})
	}
	i.close()
	delete(s.here, id)
	return all
}
