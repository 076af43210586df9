package workflow

// F0 to F3 are tasks with as many arguments.
type (
	F0[R any]          struct{ *Task }
	F1[A, R any]       struct{ *Task }
	F2[A, B, R any]    struct{ *Task }
	F3[A, B, C, R any] struct{ *Task }
)

// None is the output of a task that returns only an error.
type None struct{}

// Func0 makes a task of a function. It panics if no codec takes R.
func Func0[R any](name string, version int, f func(Context) (R, error)) F0[R] {
	return F0[R]{newTask(name, version, codecFor[R](), nil, func(c Context, _ []any) (any, error) { return f(c) })}
}

// Func1 makes a task of a function. It panics if no codec takes A or R.
func Func1[A, R any](name string, version int, f func(Context, A) (R, error)) F1[A, R] {
	return F1[A, R]{newTask(name, version, codecFor[R](), []reader{readerFor[A]()},
		func(c Context, in []any) (any, error) { return f(c, in[0].(A)) })}
}

// Func2 makes a task of a function. It panics if no codec takes A, B or R.
func Func2[A, B, R any](name string, version int, f func(Context, A, B) (R, error)) F2[A, B, R] {
	return F2[A, B, R]{newTask(name, version, codecFor[R](), []reader{readerFor[A](), readerFor[B]()},
		func(c Context, in []any) (any, error) { return f(c, in[0].(A), in[1].(B)) })}
}

// Func3 makes a task of a function. It panics if no codec takes A, B, C or R.
func Func3[A, B, C, R any](name string, version int, f func(Context, A, B, C) (R, error)) F3[A, B, C, R] {
	return F3[A, B, C, R]{newTask(name, version, codecFor[R](), []reader{readerFor[A](), readerFor[B](), readerFor[C]()},
		func(c Context, in []any) (any, error) { return f(c, in[0].(A), in[1].(B), in[2].(C)) })}
}

// Do0 makes a task of a function that returns only an error.
func Do0(name string, version int, f func(Context) error) F0[None] {
	return Func0(name, version, func(c Context) (None, error) { return None{}, f(c) })
}

// Do1 makes a task of a function that returns only an error.
func Do1[A any](name string, version int, f func(Context, A) error) F1[A, None] {
	return Func1(name, version, func(c Context, a A) (None, error) { return None{}, f(c, a) })
}

// Do2 makes a task of a function that returns only an error.
func Do2[A, B any](name string, version int, f func(Context, A, B) error) F2[A, B, None] {
	return Func2(name, version, func(c Context, a A, b B) (None, error) { return None{}, f(c, a, b) })
}

// Do3 makes a task of a function that returns only an error.
func Do3[A, B, C any](name string, version int, f func(Context, A, B, C) error) F3[A, B, C, None] {
	return Func3(name, version, func(c Context, a A, b B, d C) (None, error) { return None{}, f(c, a, b, d) })
}

// With returns a copy of the task with annotations.
func (f F0[R]) With(options ...Option) F0[R]             { return F0[R]{f.with(options)} }
func (f F1[A, R]) With(options ...Option) F1[A, R]       { return F1[A, R]{f.with(options)} }
func (f F2[A, B, R]) With(options ...Option) F2[A, B, R] { return F2[A, B, R]{f.with(options)} }
func (f F3[A, B, C, R]) With(options ...Option) F3[A, B, C, R] {
	return F3[A, B, C, R]{f.with(options)}
}

// Undo returns a copy of the task whose effect another function of the same inputs takes back.
// That function is deterministic and idempotent.
func (f F0[R]) Undo(by func(Context) error) F0[R] {
	return F0[R]{f.undone(func(c Context, _ []any) error { return by(c) })}
}

// Undo is as that of F0.
func (f F1[A, R]) Undo(by func(Context, A) error) F1[A, R] {
	return F1[A, R]{f.undone(func(c Context, in []any) error { return by(c, in[0].(A)) })}
}

// Undo is as that of F0.
func (f F2[A, B, R]) Undo(by func(Context, A, B) error) F2[A, B, R] {
	return F2[A, B, R]{f.undone(func(c Context, in []any) error { return by(c, in[0].(A), in[1].(B)) })}
}

// Undo is as that of F0.
func (f F3[A, B, C, R]) Undo(by func(Context, A, B, C) error) F3[A, B, C, R] {
	return F3[A, B, C, R]{f.undone(func(c Context, in []any) error { return by(c, in[0].(A), in[1].(B), in[2].(C)) })}
}

// Compensate returns a copy of the task for whose effect another function, of the same inputs and the output,
// makes up if the run fails or is cancelled after the task has ended. That function is idempotent.
func (f F0[R]) Compensate(by func(Context, R) error) F0[R] {
	return F0[R]{f.compensated(func(c Context, _ []any, out any) error { return by(c, out.(R)) })}
}

// Compensate is as that of F0.
func (f F1[A, R]) Compensate(by func(Context, A, R) error) F1[A, R] {
	return F1[A, R]{f.compensated(func(c Context, in []any, out any) error { return by(c, in[0].(A), out.(R)) })}
}

// Compensate is as that of F0.
func (f F2[A, B, R]) Compensate(by func(Context, A, B, R) error) F2[A, B, R] {
	return F2[A, B, R]{f.compensated(func(c Context, in []any, out any) error { return by(c, in[0].(A), in[1].(B), out.(R)) })}
}

// Compensate is as that of F0.
func (f F3[A, B, C, R]) Compensate(by func(Context, A, B, C, R) error) F3[A, B, C, R] {
	return F3[A, B, C, R]{f.compensated(func(c Context, in []any, out any) error { return by(c, in[0].(A), in[1].(B), in[2].(C), out.(R)) })}
}

// Bind makes a step of a workflow: the task, with these arguments.
func (f F0[R]) Bind() Step[R] { return stepOf[R](f.Task) }

// Bind makes a step of a workflow: the task, with these arguments.
func (f F1[A, R]) Bind(a Arg[A]) Step[R] { return stepOf[R](f.Task, a.input()) }

// Bind makes a step of a workflow: the task, with these arguments.
func (f F2[A, B, R]) Bind(a Arg[A], b Arg[B]) Step[R] { return stepOf[R](f.Task, a.input(), b.input()) }

// Bind makes a step of a workflow: the task, with these arguments.
func (f F3[A, B, C, R]) Bind(a Arg[A], b Arg[B], c Arg[C]) Step[R] {
	return stepOf[R](f.Task, a.input(), b.input(), c.input())
}
