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

// scope returns a context that ends with ctx, and when the group is revoked or left;
// with all also when a member fails that was not acknowledged. The cause says why.
func (g *Group) scope(ctx context.Context, all bool) (scoped context.Context, end func()) {
	over := g.ctx
	if all {
		g.mu.Lock()
		over = g.alarm // which ends with the other one
		g.mu.Unlock()
	}
	scoped, cancel := context.WithCancelCause(ctx)
	if over.Err() != nil { // AfterFunc would begin a goroutine
		cancel(context.Cause(over))
		return scoped, func() {}
	}
	stop := context.AfterFunc(over, func() { cancel(context.Cause(over)) })
	return scoped, func() { stop(); cancel(nil) }
}

// in makes a call in the group. What it returns once the group has ended is dropped.
func in[T any](ctx context.Context, g *Group, op string, all bool, call func(context.Context) (T, error), drop func(T)) (T, error) {
	scoped, end := g.scope(ctx, all)
	defer end()
	var zero T
	if why := interrupted(scoped); why != nil {
		return zero, named(why, op)
	}
	v, err := call(scoped)
	why := interrupted(scoped)
	if why == nil {
		return v, err
	}
	if err == nil && drop != nil {
		drop(v)
	}
	return zero, named(why, op)
}

// interrupted returns why the group has ended a scope, or nil.
func interrupted(scoped context.Context) error {
	var e *phalanx.Error
	if scoped.Err() != nil && errors.As(context.Cause(scoped), &e) {
		return e
	}
	return nil
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
