package workflow

// Arg is an argument of a task: a Step's output, a Value, or All of several.
type Arg[T any] interface {
	input() input
	is(T) // T only
}

// AnyStep is a step of any type.
type AnyStep interface{ node() *node }

// input is an argument. Exactly one field is set.
type input struct {
	step  *node
	value *constant
	all   []input // of a slice
	slice func([]any) any
}

// constant is a value that is known when the workflow is made.
type constant struct {
	value any
	codec codec
}

// node is one use of a task in a workflow.
type node struct {
	task  *Task
	in    []input
	after []*node
}

// Step is one use of a task in a workflow. As an argument it is the output of the task.
type Step[R any] struct{ n *node }

func stepOf[R any](t *Task, in ...input) Step[R] { return Step[R]{&node{task: t, in: in}} }

func (s Step[R]) input() input { return input{step: s.n} }
func (s Step[R]) is(R)         {}
func (s Step[R]) node() *node  { return s.n }

// With returns another step, which is this one with more annotations.
func (s Step[R]) With(options ...Option) Step[R] {
	c := *s.n
	c.task = c.task.with(options)
	return Step[R]{&c}
}

// After returns another step, which is this one after others have ended.
func After[R any](s Step[R], others ...AnyStep) Step[R] {
	c := *s.n
	c.after = append([]*node(nil), c.after...)
	for _, o := range others {
		c.after = append(c.after, o.node())
	}
	return Step[R]{&c}
}

type value[T any] struct{ of constant }

func (v value[T]) input() input { return input{value: &v.of} }
func (v value[T]) is(T)         {}

// Value is a constant as an argument. It panics if no codec takes T.
func Value[T any](v T) Arg[T] { return value[T]{constant{v, codecFor[T]()}} }

type list[T any] struct{ of []Arg[T] }

func (l list[T]) is([]T) {}

func (l list[T]) input() input {
	in := input{slice: func(all []any) any {
		out := make([]T, len(all))
		for i, v := range all {
			out[i] = v.(T)
		}
		return out
	}}
	for _, a := range l.of {
		in.all = append(in.all, a.input())
	}
	return in
}

// All is the outputs of several steps as one argument.
func All[T any](args ...Arg[T]) Arg[[]T] { return list[T]{args} }
