package workflow

import "reflect"

// Outcome is how a step has ended, for a task that deals with its error.
type Outcome[T any] struct {
	Value T     // if Err is nil
	Err   error // why the step has failed for good; it has the text only
}

func (o *Outcome[T]) of() reflect.Type { return reflect.TypeFor[T]() }

func (o *Outcome[T]) set(v any, err error) {
	o.Value, o.Err = v.(T), err
}

type catching[T any] struct{ n *node }

func (c catching[T]) input() input  { return input{step: c.n, mode: modeCaught} }
func (c catching[T]) is(Outcome[T]) {}

// Catch is the outcome of a step as an argument: the run goes on if the step fails. All that read a step
// catch its error, or none.
func Catch[T any](s Step[T]) Arg[Outcome[T]] { return catching[T](s) }
