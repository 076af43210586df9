package workflow

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/messages"
)

// Arg is an argument of a task: a Step's output, a Value, All of several, the Outcome that Catch returns, or a step's
// output for reading.
type Arg[T any] interface {
	input() input
	is(T) // T only
}

// AnyStep is a step of any type.
type AnyStep interface{ node() *node }

// input is an argument: a step's output, a constant, or else a list.
type input struct {
	step  *node
	mode  mode // of step
	value *constant
	all   []input // of a list
}

// mode says how a task takes the output of a step.
type mode uint8

const (
	modePlain  mode = iota
	modeRead        // its actors are only read
	modeCaught      // or its error
)

// constant is a value that is known when the workflow is made.
type constant struct {
	value    any
	codec    codec
	borrowed bool // the caller keeps the objects of its Refs
}

// node is one use of a task in a workflow, or a step that no task makes.
type node struct {
	kind    messages.GraphKind
	task    *Task // of a function
	promise promise
	in      []input
	after   []*node

	makes codec
	name  string        // of an event
	pause time.Duration // of a sleep
	op    phalanx.Op    // of a reduce
	dtype phalanx.DType // of its elements
	num   int
	shows bool // the order in which the inputs of a reduce arrive shows in its output
}

// Step is one use of a task in a workflow. As an argument it is the output of the task.
type Step[R any] struct{ n *node }

func stepOf[R any](t *Task, in ...input) Step[R] {
	return Step[R]{&node{task: t, promise: t.promise, in: in, makes: t.makes}}
}

func (s Step[R]) input() input { return input{step: s.n} }
func (s Step[R]) is(R)         {}
func (s Step[R]) node() *node  { return s.n }

// With returns another step, which is this one with more annotations.
func (s Step[R]) With(options ...Option) Step[R] {
	c := *s.n
	if c.task != nil {
		with := *c.task
		with.promise = c.promise
		c.task = with.with(options)
		c.promise = c.task.promise
		return Step[R]{&c}
	}
	for _, o := range options {
		o(&c.promise)
	}
	return Step[R]{&c}
}

// After returns another step, which is this one after others have ended.
func After[R any](s Step[R], others ...AnyStep) Step[R] {
	c := *s.n
	c.after = slices.Clone(c.after)
	for _, o := range others {
		c.after = append(c.after, o.node())
	}
	return Step[R]{&c}
}

type value[T any] struct{ of constant }

func (v value[T]) input() input { return input{value: &v.of} }
func (v value[T]) is(T)         {}

// Value is a constant as an argument. It panics if no codec takes T. A constant has at most 64 KB encoded; larger ones go into
// the store, and a Ref is passed. The objects of its Refs get a checkpoint, by a step "keep" of the run's own, which a task with an
// effect waits for. From then on the run does not need that somebody else keeps them; but if one is deleted, it is.
func Value[T any](v T) Arg[T] { return value[T]{constant{value: v, codec: codecFor[T]()}} }

// Borrowed is a Value whose Refs have no checkpoint: the caller keeps their objects until the run has ended, in the store of nodes that
// stay. If one is lost, or deleted, the tasks that read it fail. Nothing is written to disks, so that large objects cost nothing.
func Borrowed[T any](v T) Arg[T] {
	return value[T]{constant{value: v, codec: codecFor[T](), borrowed: true}}
}

type list[T any] struct{ of []Arg[T] }

func (l list[T]) is([]T) {}

func (l list[T]) input() input {
	in := input{all: make([]input, len(l.of))}
	for i, a := range l.of {
		in.all[i] = a.input()
	}
	return in
}

// All is the outputs of several steps as one argument.
func All[T any](args ...Arg[T]) Arg[[]T] { return list[T]{args} }
