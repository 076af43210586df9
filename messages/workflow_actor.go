package messages

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/phalanx-go/phalanx"
	flow "github.com/phalanx-go/phalanx/node/workflow"
)

// actorForm is an actor as an output that holds it has it.
type actorForm struct {
	Node    phalanx.NodeID   `json:"node"`
	ID      string           `json:"id"`
	By      string           `json:"by"`
	Version uint64           `json:"version"`
	Kind    string           `json:"kind"`
	Name    string           `json:"name"`
	State   phalanx.ObjectID `json:"state,omitempty"`
}

// Bounds of what is said of an actor, in bytes.
const (
	mostActorID   = 512
	mostActorName = 600 // of a kind or a method, with its version
)

// MarshalActor returns the form of an actor in outputs.
func MarshalActor(a flow.Actor) ([]byte, error) {
	return json.Marshal(actorForm{a.Node, a.ID, a.By, a.Version, a.Kind, a.Name, a.State})
}

// UnmarshalActor is the inverse of MarshalActor.
func UnmarshalActor(form []byte) (a flow.Actor, err error) {
	var m actorForm
	if err := json.Unmarshal(form, &m); err != nil {
		return a, broken("an actor: %v", err)
	}
	a = flow.Actor{ActorAt: flow.ActorAt{Node: m.Node, ID: m.ID, By: m.By, Version: m.Version}, Kind: m.Kind, Name: m.Name, State: m.State}
	f := &fields{}
	f.node("actor.node", string(m.Node))
	f.actorAt(a.ActorAt)
	for _, s := range []string{a.Kind, a.Name} {
		if s == "" || !utf8.ValidString(f.text("actor.name", s, mostActorName)) {
			f.bad("actor.name", "%.100q is none", s)
		}
	}
	f.maybeObject("actor.state", string(a.State))
	return a, f.err
}

// actorAt says what is wrong with an actor, but for its node.
func (f *fields) actorAt(a flow.ActorAt) flow.ActorAt {
	for _, s := range []string{a.ID, a.By} {
		if len(s) > mostActorID || !utf8.ValidString(s) || flow.RunOf(s) == "" {
			f.bad("actor", "%.100q is of no actor of a run", s)
		}
	}
	if a.Version == 0 || flow.RunOf(a.ID) != flow.RunOf(a.By) {
		f.bad("actor", "%.100q at version %d is none", a.ID, a.Version)
	}
	return a
}

func fromActorCall(c flow.ActorCall) *WorkflowActorCall {
	return &WorkflowActorCall{Number: c.Number, Below: c.Below, Turn: c.Turn, Open: c.Open, Deed: uint32(c.Deed), Id: c.Actor.ID, Made: c.Actor.By, Version: c.Actor.Version,
		By: c.By, Name: c.Name, As: c.As, Bytes: c.Bytes, Large: fromLarge(c.Large), Object: string(c.Object)}
}

// actorCall reads a call. The actor is on the node that gets it.
func (f *fields) actorCall(c *WorkflowActorCall, to phalanx.NodeID) flow.ActorCall {
	m := flow.ActorCall{Number: c.GetNumber(), OpenCalls: f.openCalls("actor_call.open", c), Deed: flow.ActorDeed(c.GetDeed()),
		Actor: f.actorAt(flow.ActorAt{Node: to, ID: c.GetId(), By: c.GetMade(), Version: c.GetVersion()}),
		By:    f.text("actor_call.by", c.GetBy(), mostActorID), Name: f.text("actor_call.name", c.GetName(), mostActorName),
		As: f.text("actor_call.as", c.GetAs(), mostActorName), Bytes: c.GetBytes(), Large: f.large("actor_call.large", c.GetLarge()), Object: f.maybeObject("actor_call.object", c.GetObject())}
	if c.GetDeed() > uint32(flow.ActorDiscard) {
		f.bad("actor_call.deed", "the value %d is not known", c.GetDeed())
	}
	f.inline("actor_call.bytes", m.Bytes)
	return m
}

// openCalls reads which calls go on.
func (f *fields) openCalls(name string, m interface {
	GetTurn() uint64
	GetOpen() []uint64
	GetBelow() uint64
}) flow.OpenCalls {
	open := m.GetOpen()
	if len(open) > flow.MaxOpen {
		f.bad(name, "there are %d, at most %d are allowed", len(open), flow.MaxOpen)
	}
	for i, n := range open {
		if n >= m.GetBelow() || i > 0 && n <= open[i-1] {
			f.bad(name, "the number %d is out of order", n)
			break
		}
	}
	return flow.OpenCalls{Turn: m.GetTurn(), Open: open, Below: m.GetBelow()}
}

func fromActorAnswer(a flow.ActorAnswer) *WorkflowActorAnswer {
	return &WorkflowActorAnswer{Number: a.Number, End: uint32(a.End), Why: fromText(a.Why), Final: a.Final, Bytes: a.Bytes, Large: fromLarge(a.Large)}
}

func (f *fields) actorAnswer(a *WorkflowActorAnswer) flow.ActorAnswer {
	if a.GetEnd() > uint32(flow.ActorGone) {
		f.bad("actor_answer.end", "the value %d is not known", a.GetEnd())
	}
	f.inline("actor_answer.bytes", a.GetBytes())
	return flow.ActorAnswer{Number: a.GetNumber(), End: flow.ActorEnd(a.GetEnd()), Why: a.GetWhy(), Final: a.GetFinal(), Bytes: a.GetBytes(), Large: f.large("actor_answer.large", a.GetLarge())}
}

// inline says that bytes are too many: they had to be an object.
func (f *fields) inline(name string, b []byte) {
	if len(b) > flow.MaxActorBytes {
		f.bad(name, "there are %d, at most %d are allowed", len(b), flow.MaxActorBytes)
	}
}

func fromLarge(r flow.Ref) *WorkflowRef {
	if r.Object == "" {
		return nil
	}
	return &WorkflowRef{Object: string(r.Object), Meta: fromMeta(r.Meta), Digest: fromDigest(r.Digest)}
}

func (f *fields) large(name string, r *WorkflowRef) flow.Ref {
	if r == nil {
		return flow.Ref{}
	}
	return flow.Ref{Object: f.object(name+".object", r.GetObject()), Meta: f.meta(name+".meta", r.GetMeta()), Digest: f.digest(name+".digest", r.GetDigest())}
}
