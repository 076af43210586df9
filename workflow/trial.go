package workflow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/messages"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// Trial runs single attempts of tasks in this process, as a node does for a run, but outside of any: to try a task, and for tests
// of what it promises (package worktest). It records nothing. It is safe for concurrent use.
type Trial struct {
	run   string
	store objects
	stage *trialStage
	log   logrus.FieldLogger
}

// TrialConfig says how a Trial goes about its attempts. The zero value is valid.
type TrialConfig struct {
	Run    string             // is the first part of keys; "": "trial"
	Node   *cluster.Node      // has the objects; nil: this process's memory, as long as the Trial is in use
	Actors *ActorKinds        // of the actors that tasks make, which live in this process
	Logger logrus.FieldLogger // nil: nothing is logged
}

// NewTrial returns a Trial.
func NewTrial(cfg TrialConfig) *Trial {
	t := &Trial{run: cfg.Run, log: cfg.Logger, store: newMemory()}
	if t.run == "" {
		t.run = "trial"
	}
	if cfg.Node != nil {
		t.store = nodeStore{cfg.Node}
	}
	t.stage = newTrialStage(cfg.Actors, cfg.Node, t.store)
	if t.log == nil {
		log := logrus.New()
		log.SetOutput(io.Discard)
		t.log = log
	}
	return t
}

// Try is one attempt of a Trial, as the task sees it.
type Try struct {
	Gen      uint32 // raised when the effect was undone and the task runs anew
	Number   int    // 0: 1
	Fence    Fence  // in an undo: up to which attempts it undoes
	Progress []byte // of the attempt before
}

// Recording is what an attempt was given, and what it has made: enough to run it again. It can be kept as JSON. Objects that Refs
// name are not in it.
type Recording struct {
	Task          string          `json:"task"` // name@version
	Key           string          `json:"key"`
	Inputs        []RecordedInput `json:"inputs,omitempty"`
	Output        []byte          `json:"output"`
	Expands       bool            `json:"expands,omitempty"`       // Output is a workflow
	Deterministic bool            `json:"deterministic,omitempty"` // as the task is annotated
	Digest        string          `json:"digest"`                  // of Output
	Objects       []Ref           `json:"objects,omitempty"`       // that the attempt has made
}

// RecordedInput is an argument of an attempt: bytes, a list, or the error of another task.
type RecordedInput struct {
	Bytes  []byte          `json:"bytes,omitempty"`
	Failed string          `json:"failed,omitempty"`
	IsList bool            `json:"isList,omitempty"`
	List   []RecordedInput `json:"list,omitempty"`
}

// Object puts an object, to pass its Ref to a task.
func (t *Trial) Object(ctx context.Context, id phalanx.ObjectID, data []byte) (Ref, error) {
	info, err := t.store.Put(ctx, id, data, phalanx.Meta{})
	return RefOf(info), err
}

// Do runs the task of a step, whose arguments are all values. It returns the error of the task.
func (t *Trial) Do(ctx context.Context, s AnyStep, try Try) (Recording, error) {
	a, tasks, err := t.attempt(s, try)
	if err != nil {
		return Recording{}, err
	}
	return t.record(ctx, a, tasks)
}

// Undo runs the undo of a step's task, for the attempts with a fence up to that of the Try.
func (t *Trial) Undo(ctx context.Context, s AnyStep, try Try) error {
	a, tasks, err := t.attempt(s, try)
	if err != nil {
		return err
	}
	a.kind = core.TakeBack
	return t.attend(ctx, a, tasks).err
}

// Compensate runs the compensation of a step's task, with an output that Do has returned.
func (t *Trial) Compensate(ctx context.Context, s AnyStep, made Recording, try Try) error {
	a, tasks, err := t.attempt(s, try)
	if err != nil {
		return err
	}
	a.kind, a.output = core.MakeUp, &given{bytes: made.Output}
	return t.attend(ctx, a, tasks).err
}

// Replay runs the function that a registry now has for a recorded attempt, on the recorded inputs.
func (t *Trial) Replay(ctx context.Context, tasks *Registry, r Recording, try Try) (Recording, error) {
	at := strings.LastIndexByte(r.Task, '@') // a name may have one
	v, err := strconv.Atoi(r.Task[at+1:])
	if at < 0 || err != nil {
		return Recording{}, invalid("replay", fmt.Errorf("the recording is of the task %.100q, which is no name@version", r.Task))
	}
	known, err := tasks.find(r.Task[:at], v)
	if err != nil {
		return Recording{}, err
	}
	call, err := (&node{task: known, promise: known.promise}).call(nil)
	if err != nil {
		return Recording{}, err
	}
	a := t.try(call, try)
	for _, in := range r.Inputs {
		a.args = append(a.args, supplied(in))
	}
	return t.record(ctx, a, tasks)
}

// Output returns the output that an attempt has made.
func Output[R any](r Recording) (R, error) {
	var none R
	if r.Expands {
		return none, invalid("output", errors.New("the task has returned a workflow"))
	}
	v, err := codecFor[R]().decode(r.Output)
	if err != nil {
		return none, invalid("output", err)
	}
	return v.(R), nil
}

func (t *Trial) runner(tasks *Registry) *runner {
	return &runner{tasks: tasks, store: t.store, stage: t.stage, log: t.log, grace: attemptGrace}
}

// attend runs an attempt.
func (t *Trial) attend(ctx context.Context, a *attempt, tasks *Registry) ended {
	e := t.runner(tasks).run(ctx, a, nil)
	if e.leave != nil {
		e.leave(e.err == nil)
	}
	return e
}

func (t *Trial) try(call messages.GraphCall, try Try) *attempt {
	number := max(try.Number, 1)
	return &attempt{run: t.run, path: call.Name, gen: try.Gen, kind: core.Do, call: call, fence: try.Fence, number: number, progress: try.Progress,
		made: core.Attempt{Epoch: try.Fence.Term, Number: try.Fence.Attempt}}
}

// attempt returns the attempt of a step, and a registry of its task.
func (t *Trial) attempt(s AnyStep, try Try) (*attempt, *Registry, error) {
	n := s.node()
	if n == nil || n.task == nil || n.task.named {
		return nil, nil, invalid("try", errors.New("the step has no function"))
	}
	call, err := n.call(nil)
	if err != nil {
		return nil, nil, err
	}
	a := t.try(call, try)
	for i, in := range n.in {
		arg, err := constants(in)
		if err != nil {
			return nil, nil, invalid("try "+n.task.Name(), fmt.Errorf("argument %d: %w", i, err))
		}
		a.args = append(a.args, arg)
	}
	return a, Tasks(n.task), nil
}

// constants returns an argument that holds constants only.
func constants(in input) (supply, error) {
	if in.value != nil {
		b, err := in.value.codec.encode(in.value.value)
		return supply{given: given{bytes: slices.Clone(b)}}, err
	}
	if in.step != nil || in.all == nil {
		return supply{}, errors.New("it is the output of a step: give a Value")
	}
	list := supply{isList: true}
	for _, i := range in.all {
		item, err := constants(i)
		if err != nil {
			return list, err
		}
		list.list = append(list.list, item)
	}
	return list, nil
}

// record runs an attempt and returns what it was given and has made.
func (t *Trial) record(ctx context.Context, a *attempt, tasks *Registry) (Recording, error) {
	e := t.attend(ctx, a, tasks)
	r := Recording{Task: a.call.String(), Key: keyOf(a), Expands: e.expands, Deterministic: a.call.Deterministic}
	for _, s := range a.args {
		r.Inputs = append(r.Inputs, s.recorded())
	}
	if e.err != nil {
		return r, e.err
	}
	r.Output, r.Digest = e.output.Bytes, phalanx.Digest(e.output.Digest).String()
	for _, ref := range e.made {
		if ref != e.object {
			r.Objects = append(r.Objects, ref)
		}
	}
	if e.object.IsZero() {
		return r, nil
	}
	v, err := t.store.TryGet(ctx, e.object.id)
	if err != nil {
		return r, err
	}
	defer v.Release()
	if e.output.Refs > 0 { // the object lists what they name as well
		if r.Output, _, err = messages.UnmarshalBundle(v.Bytes()); err != nil {
			return r, err
		}
		r.Digest = dataplane.DigestBytes(r.Output).String()
		return r, nil
	}
	r.Output = slices.Clone(v.Bytes())
	return r, nil
}

func (s supply) recorded() RecordedInput {
	r := RecordedInput{Bytes: s.given.bytes, Failed: s.given.failed, IsList: s.isList}
	for _, i := range s.list {
		r.List = append(r.List, i.recorded())
	}
	return r
}

// supplied is the inverse of recorded.
func supplied(r RecordedInput) supply {
	s := supply{given: given{bytes: r.Bytes, failed: r.Failed}, isList: r.IsList}
	for _, i := range r.List {
		s.list = append(s.list, supplied(i))
	}
	return s
}
