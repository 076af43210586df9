package workflow

import (
	"fmt"
	"slices"

	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// Task is a registered function. Programs make tasks by Func0 to Func3, Do0 to Do3, Expand0 to Expand3 and
// Named0 to Named3.
type Task struct {
	name       string
	version    int
	promise    promise
	options    []Option // of a task that is only named, in order
	named      bool     // the function is the registry's
	expands    bool     // call returns an AnyStep
	call       func(c Context, in []any) (any, error)
	undo       func(c Context, in []any) error
	compensate func(c Context, in []any, out any) error
	reads      []reader // of the arguments
	makes      codec
}

// AnyTask is a task of any type.
type AnyTask interface{ task() *Task }

func (t *Task) task() *Task { return t }

// Name returns the name and the version: "reserve@2".
func (t *Task) Name() string { return fmt.Sprintf("%s@%d", t.name, t.version) }

func (t *Task) with(options []Option) *Task {
	c := *t
	for _, o := range options {
		o(&c.promise)
	}
	if c.named {
		c.options = append(slices.Clone(c.options), options...)
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

func (t *Task) compensated(by func(c Context, in []any, out any) error) *Task {
	c := *t
	c.compensate = by
	return &c
}

func newTask(name string, version int, makes codec, reads []reader, call func(c Context, in []any) (any, error)) *Task {
	if name == "" || len(name) > maxName || version < 0 || version > maxVersion {
		panic(fmt.Sprintf("workflow: a task is called %q and has version %d; it needs a name of up to %d bytes, and a version from 0 to %d", name, version, maxName, maxVersion))
	}
	return &Task{name: name, version: version, call: call, reads: reads, makes: makes}
}

// Bounds of a task's name, in bytes, and of its version.
const (
	maxName    = 128
	maxVersion = 1<<31 - 1
)
