package workflow

import (
	"encoding/json"

	"github.com/phalanx-go/phalanx/messages"
	flow "github.com/phalanx-go/phalanx/node/workflow"
)

// ActorRef is an actor at one version, that tasks make and pass on (workflow specification 1.4). It can stand anywhere in an
// argument or an output, as a Ref. ActorKind.Spawn makes an actor, and ActorMethod.Call calls it, on whatever node it lives.
//
// A task that is given an actor by a step writes it: its output holds the next version, and the one before is moved away. A task that is
// given it by Read shares that version with others, and calls methods that are ReadOnly. If an attempt that writes does not end well,
// or the actor's node dies, the version is lost: without a Snapshot the tasks that have made it run again, with one the actor is
// restored. An actor that a task was given to write, and that is not in its output, is no more.
//
// A task that returns an ActorRef needs NoEffect or an Undo, since a repeat under its key would make another actor, and is not
// Deterministic.
type ActorRef struct{ of *actorUse }

// actorUse is an actor as a value has it: the same actor may be in several arguments.
type actorUse struct {
	actor flow.Actor // as the value was decoded; not of one that the attempt has made
	seat  *seat      // nil: the value is in no attempt
	reads bool       // by a Read
}

// Name returns the name that the actor was given.
func (r ActorRef) Name() string { return r.form().Name }

// Version counts the tasks that have written the actor, from 1, and the times that it was restored.
func (r ActorRef) Version() uint64 { return r.form().Version }

// IsZero reports whether r is none.
func (r ActorRef) IsZero() bool { return r.of == nil }

// form returns the actor as it is now.
func (r ActorRef) form() flow.Actor {
	switch {
	case r.of == nil:
		return flow.Actor{}
	case r.of.seat == nil:
		return r.of.actor
	}
	return r.of.seat.form()
}

// MarshalJSON is the form in which ActorRefs go between tasks.
func (r ActorRef) MarshalJSON() ([]byte, error) {
	if r.IsZero() {
		return []byte("null"), nil
	}
	return messages.MarshalActor(r.form())
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (r *ActorRef) UnmarshalJSON(b []byte) error {
	*r = ActorRef{}
	var some *json.RawMessage
	if err := json.Unmarshal(b, &some); err != nil || some == nil {
		return err
	}
	a, err := messages.UnmarshalActor(b)
	if err == nil {
		r.of = &actorUse{actor: a}
	}
	return err
}

type reading[T any] struct{ n *node }

func (r reading[T]) input() input { return input{step: r.n, mode: modeRead} }
func (r reading[T]) is(T)         {}

// Read is the output of a step as an argument, whose actors the task only reads.
func Read[T any](s Step[T]) Arg[T] { return reading[T](s) }
