package workflow

import (
	"context"
	"fmt"

	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// Context is the context of one attempt of a task. It ends with the attempt.
type Context interface {
	context.Context

	// Key is the same for every attempt of the task in one run, and differs between runs and tasks. A
	// service that remembers keys does not repeat an effect.
	Key() string
}

// Task is a registered function. Programs make tasks by Func0 to Func3 and Do0 to Do3.
type Task struct {
	name    string
	version int
	promise promise
	call    func(c Context, in []any) (any, error)
	undo    func(c Context, in []any) error
	reads   []codec // of the arguments
	makes   codec
}

// promise is what the annotations of a task say.
type promise struct {
	deterministic bool
	checkpoint    core.Checkpoint
	effect        core.Effect
}

// Name returns the name and the version: "reserve@2".
func (t *Task) Name() string { return fmt.Sprintf("%s@%d", t.name, t.version) }

// Option annotates a task, or one step of it.
type Option func(*promise)

// The annotations. Without them a task is not deterministic, has an asynchronous checkpoint and an
// idempotent effect: that is write-ahead logging.
var (
	// Deterministic says that the task makes the same bytes of the same inputs, and reads nothing that
	// later tasks or outsiders overwrite.
	Deterministic Option = func(p *promise) { p.deterministic = true }
	// NoEffect says that outsiders see nothing of the task.
	NoEffect Option = func(p *promise) { p.effect = core.None }
	// NoCheckpoint has the output not saved, unless it is a result.
	NoCheckpoint Option = func(p *promise) { p.checkpoint = core.Off }
	// SyncCheckpoint has consumers wait until the output is saved.
	SyncCheckpoint Option = func(p *promise) { p.checkpoint = core.Sync }
)

func (t *Task) with(options []Option) *Task {
	c := *t
	for _, o := range options {
		o(&c.promise)
	}
	if c.undo != nil && c.promise.effect == core.None {
		panic(fmt.Sprintf("workflow: %s has an undo and no effect", t.Name()))
	}
	return &c
}

func (t *Task) undone(by func(c Context, in []any) error) *Task {
	c := *t
	c.undo, c.promise.effect = by, core.Undo
	return &c
}

func newTask(name string, version int, makes codec, reads []codec, call func(c Context, in []any) (any, error)) *Task {
	if name == "" || version < 0 {
		panic(fmt.Sprintf("workflow: a task is called %q and has version %d; it needs a name, and a version of 0 or more", name, version))
	}
	return &Task{name: name, version: version, call: call, reads: reads, makes: makes}
}
