package workflow

import core "github.com/phalanx-go/phalanx/protocol/workflow"

// A task may return a workflow (workflow specification 1.5): the run goes on with that workflow, and its result becomes the output of
// the task. The task itself has no effect: With(Idempotent) does not give it one, and an Undo or a Compensate is refused.

// Expand0 makes a task of a function that returns a workflow. It panics if no codec takes R.
func Expand0[R any](name string, version int, f func(Context) (Step[R], error)) F0[R] {
	return F0[R]{newTask(name, version, codecFor[R](), nil,
		func(c Context, _ []any) (any, error) { return f(c) }).expanding()}
}

// Expand1 makes a task of a function that returns a workflow. It panics if no codec takes A or R.
func Expand1[A, R any](name string, version int, f func(Context, A) (Step[R], error)) F1[A, R] {
	return F1[A, R]{newTask(name, version, codecFor[R](), []reader{readerFor[A]()},
		func(c Context, in []any) (any, error) { return f(c, in[0].(A)) }).expanding()}
}

// Expand2 makes a task of a function that returns a workflow. It panics if no codec takes A, B or R.
func Expand2[A, B, R any](name string, version int, f func(Context, A, B) (Step[R], error)) F2[A, B, R] {
	return F2[A, B, R]{newTask(name, version, codecFor[R](), []reader{readerFor[A](), readerFor[B]()},
		func(c Context, in []any) (any, error) { return f(c, in[0].(A), in[1].(B)) }).expanding()}
}

// Expand3 makes a task of a function that returns a workflow. It panics if no codec takes A, B, C or R.
func Expand3[A, B, C, R any](name string, version int, f func(Context, A, B, C) (Step[R], error)) F3[A, B, C, R] {
	return F3[A, B, C, R]{newTask(name, version, codecFor[R](), []reader{readerFor[A](), readerFor[B](), readerFor[C]()},
		func(c Context, in []any) (any, error) { return f(c, in[0].(A), in[1].(B), in[2].(C)) }).expanding()}
}

func (t *Task) expanding() *Task {
	t.expands, t.promise.effect = true, core.None // effects are those of the graph's tasks
	return t
}

// Named0 is a task by its name: a function that refers to itself, or one that other programs register. Its annotations are those
// of the task that the registry has under the name, if Check or the run is given one, and then those of With.
func Named0[R any](name string, version int) F0[R] {
	return F0[R]{newTask(name, version, codecFor[R](), nil, nil).onlyNamed()}
}

// Named1 is as Named0.
func Named1[A, R any](name string, version int) F1[A, R] {
	return F1[A, R]{newTask(name, version, codecFor[R](), []reader{readerFor[A]()}, nil).onlyNamed()}
}

// Named2 is as Named0.
func Named2[A, B, R any](name string, version int) F2[A, B, R] {
	return F2[A, B, R]{newTask(name, version, codecFor[R](), []reader{readerFor[A](), readerFor[B]()}, nil).onlyNamed()}
}

// Named3 is as Named0.
func Named3[A, B, C, R any](name string, version int) F3[A, B, C, R] {
	return F3[A, B, C, R]{newTask(name, version, codecFor[R](), []reader{readerFor[A](), readerFor[B](), readerFor[C]()}, nil).onlyNamed()}
}

func (t *Task) onlyNamed() *Task {
	t.named = true
	return t
}
