package workflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// ActorRef is an actor, at one version, that tasks make and pass on (workflow specification 1.4). A task that is given one writes
// the actor, which makes the next version; a task that gets it by Read only reads. A task that returns an ActorRef needs NoEffect
// or an Undo, since a repeat under its key would make another actor, and is not Deterministic. Check knows the rules of actors; no
// node runs such workflows yet.
type ActorRef struct {
	name    string
	version uint64
}

// Name returns the name of the actor.
func (r ActorRef) Name() string { return r.name }

// Version counts the tasks that have written the actor, from 1.
func (r ActorRef) Version() uint64 { return r.version }

type actorForm struct {
	Actor   string `json:"actor"`
	Version uint64 `json:"version"`
}

// MarshalJSON is the form in which ActorRefs go between tasks.
func (r ActorRef) MarshalJSON() ([]byte, error) {
	if r == (ActorRef{}) {
		return []byte("null"), nil
	}
	return json.Marshal(actorForm{r.name, r.version})
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (r *ActorRef) UnmarshalJSON(b []byte) error {
	var f *actorForm
	if err := json.Unmarshal(b, &f); err != nil || f == nil {
		*r = ActorRef{}
		return err
	}
	if f.Actor == "" || len(f.Actor) > maxName || !utf8.ValidString(f.Actor) || f.Version == 0 {
		return fmt.Errorf("%.100q at version %d is no actor", f.Actor, f.Version)
	}
	r.name, r.version = f.Actor, f.Version
	return nil
}

var errActorValue = errors.New("an actor is no constant: a task makes it")

type reading[T any] struct{ n *node }

func (r reading[T]) input() input { return input{step: r.n, mode: modeRead} }
func (r reading[T]) is(T)         {}

// Read is the output of a step as an argument, whose actors the task only reads.
func Read[T any](s Step[T]) Arg[T] { return reading[T](s) }
