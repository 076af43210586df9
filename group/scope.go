package group

import (
	"context"
	"errors"
	"time"

	"github.com/phalanx-go/phalanx"
)

// defaultDeadline is that of calls whose context has none.
const defaultDeadline = time.Minute

func within(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, defaultDeadline)
}

// scope is a context in which a call is made. It ends with the caller's, and when the
// group is revoked or left; with all also when a member fails that was not
// acknowledged. The cause says why.
type scope struct {
	context.Context
	over context.Context // the group's
	end  func()
}

func (g *Group) scope(ctx context.Context, all bool) scope {
	over := g.ctx
	if all && over.Err() == nil { // in a revoked group nothing else counts
		g.mu.Lock()
		over = g.alarm // which ends with the other one
		g.mu.Unlock()
	}
	scoped, cancel := context.WithCancelCause(ctx)
	if over.Err() != nil { // AfterFunc would begin a goroutine
		cancel(context.Cause(over))
		return scope{scoped, over, func() {}}
	}
	stop := context.AfterFunc(over, func() { cancel(context.Cause(over)) })
	return scope{scoped, over, func() { stop(); cancel(nil) }}
}

// interrupted returns why the group has ended the scope, as the error of call op, or
// nil.
func (s scope) interrupted(op string) error {
	if s.over.Err() == nil {
		return nil
	}
	return named(context.Cause(s.over), op)
}

// in makes a call in the group. What it returns once the group has ended is dropped.
func in[T any](ctx context.Context, g *Group, op string, all bool, call func(context.Context) (T, error), drop func(T)) (T, error) {
	s := g.scope(ctx, all)
	defer s.end()
	var zero T
	if why := s.interrupted(op); why != nil {
		return zero, why
	}
	v, err := call(s)
	why := s.interrupted(op)
	if why == nil {
		return v, err
	}
	if err == nil && drop != nil {
		drop(v)
	}
	return zero, why
}

// named returns err, a phalanx.Error, as that of call op.
func named(err error, op string) error {
	var e *phalanx.Error
	if !errors.As(err, &e) {
		return err
	}
	out := *e
	out.Op = "group " + op
	return &out
}
