package workflow

import (
	"context"
	"slices"
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
	next uint64   // the number of the last call
	turn uint64   // of the last letter
	open []uint64 // calls that go on
	host *flow.ActorHost
	here map[string]*instance
}

var _ stage = (*trialStage)(nil)

func newTrialStage(kinds *ActorKinds, node *cluster.Node, store objects) *trialStage {
	s := &trialStage{kinds: kinds, node: node, store: store, self: "trial", here: map[string]*instance{}}
	s.host = flow.NewActorHost(s.self)
	s.host.Step(0, flow.Around{Self: s.self, Nodes: []phalanx.NodeID{s.self}})
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
	todo, number := s.begin(c)
	for len(todo) > 0 {
		e := todo[0]
		todo = todo[1:]
		switch e := e.(type) {
		case flow.ActorPerform:
			for _, ev := range s.perform(performing{ctx, e.From, e.Call}) {
				todo = append(todo, s.step(ev)...)
			}
		case flow.ActorReply:
			if e.Answer.Number == number {
				answer = e.Answer
			}
		case flow.ActorDrop:
			s.drop(e.ID)
		}
	}
	s.end(number)
	return answer
}

// begin makes a call.
func (s *trialStage) begin(c flow.ActorCall) (effects []flow.ActorHostEffect, number uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	c.Number = s.next
	s.open = append(s.open, c.Number)
	c.OpenCalls = s.list()
	return s.host.Step(0, flow.ActorCalled{From: s.self, Call: c}), c.Number
}

// end says that the answer of a call was heard.
func (s *trialStage) end(number uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, _ := slices.BinarySearch(s.open, number)
	s.open = slices.Delete(s.open, at, at+1)
	s.host.Step(0, flow.ActorLeft{From: s.self, Over: flow.ActorOver{Number: number, OpenCalls: s.list()}})
}

// list returns which calls go on.
func (s *trialStage) list() flow.OpenCalls {
	s.turn++
	l := flow.OpenCalls{Turn: s.turn, Open: slices.Clone(s.open[:min(len(s.open), flow.MaxOpen)]), Below: s.next + 1}
	if len(s.open) > flow.MaxOpen {
		l.Below = l.Open[flow.MaxOpen-1] + 1
	}
	return l
}

func (s *trialStage) step(ev flow.ActorHostEvent) []flow.ActorHostEffect {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.host.Step(0, ev)
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
