package workflow

import (
	"context"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/cluster"
	flow "github.com/phalanx-go/phalanx/node/workflow"
)

// trialStage has the actors of a Trial, in this process. A call is carried out where it is made.
type trialStage struct {
	kinds *ActorKinds
	store objects
	node  *cluster.Node // nil: none
	self  phalanx.NodeID

	mu   sync.Mutex
	next uint64
	host *flow.ActorHost
	here map[string]*instance
}

var _ stage = (*trialStage)(nil)

func newTrialStage(kinds *ActorKinds, node *cluster.Node, store objects) *trialStage {
	s := &trialStage{kinds: kinds, node: node, store: store, self: "trial", here: map[string]*instance{}}
	s.host = flow.NewActorHost(s.self)
	s.host.Step(flow.Around{Self: s.self, Nodes: []phalanx.NodeID{s.self}})
	return s
}

func (s *trialStage) places() []phalanx.NodeID { return []phalanx.NodeID{s.self} }

func (s *trialStage) read(flow.ActorAnswer) {} // its actors keep their answers

func (s *trialStage) patience() time.Duration { return 0 }

func (s *trialStage) tells(actors.Event) {}

func (s *trialStage) discard(a flow.ActorAt) {
	s.call(context.Background(), flow.ActorCall{Deed: flow.ActorDiscard, Actor: a})
}

func (s *trialStage) call(ctx context.Context, c flow.ActorCall) (answer flow.ActorAnswer) {
	s.mu.Lock()
	s.next++
	c.Number, c.Below = s.next, 0
	number := c.Number
	s.mu.Unlock()
	todo := []flow.ActorHostEvent{flow.ActorCalled{From: s.self, Call: c}}
	for len(todo) > 0 {
		ev := todo[0]
		todo = todo[1:]
		for _, e := range s.step(ev) {
			switch e := e.(type) {
			case flow.ActorPerform:
				todo = append(todo, s.perform(performing{ctx, e.From, e.Call})...)
			case flow.ActorReply:
				if e.Answer.Number == number {
					answer = e.Answer
				}
			case flow.ActorDrop:
				s.drop(e.ID)
			}
		}
	}
	s.step(flow.ActorLeft{From: s.self, Over: flow.ActorOver{Number: number}})
	return answer
}

func (s *trialStage) step(ev flow.ActorHostEvent) []flow.ActorHostEffect {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.host.Step(ev)
}

func (s *trialStage) drop(id string) {
	s.mu.Lock()
	i := s.here[id]
	delete(s.here, id)
	s.mu.Unlock()
	if i != nil {
		i.trial.Lock()
		defer i.trial.Unlock()
		i.close()
	}
}

// perform has an instance do something, and returns what the host has to hear.
func (s *trialStage) perform(p performing) (all []flow.ActorHostEvent) {
	id := p.call.Actor.ID
	s.mu.Lock()
	if p.call.Deed == flow.ActorMake || p.call.Deed == flow.ActorRestore {
		kind := s.kinds.find(p.call.Name)
		if kind == nil {
			s.mu.Unlock()
			return []flow.ActorHostEvent{
				flow.ActorPerformed{From: p.from, Answer: flow.ActorAnswer{Number: p.call.Number, End: flow.ActorLacks, Why: "it has no actors of the kind " + p.call.Name}},
				flow.ActorDied{ID: id, Why: "it was not made"}}
		}
		s.here[id] = &instance{kind: kind, name: p.call.As, node: s.node, store: s.store}
	}
	i := s.here[id]
	s.mu.Unlock()
	if i == nil {
		return []flow.ActorHostEvent{flow.ActorDied{ID: id, Why: "it is no more"}}
	}
	i.trial.Lock()
	a, crash := i.perform(p)
	i.trial.Unlock()
	switch {
	case crash != nil:
		all = append(all, flow.ActorDied{ID: id, Why: crashText(crash)})
	case i.made:
		return append(all, flow.ActorPerformed{From: p.from, Answer: a})
	default:
		all = append(all, flow.ActorPerformed{From: p.from, Answer: a}, flow.ActorDied{ID: id, Why: "it could not be made"})
	}
	s.drop(id)
	return all
}
