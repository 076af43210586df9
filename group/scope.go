package group

import (
	"context"
	"errors"
	"time"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/group"
)

// defaultDeadline is the deadline of calls whose context has none.
const defaultDeadline = time.Minute

func within(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, defaultDeadline)
}

// scope is a context in which a call is made. It ends with the caller's, when the group is
// revoked or left, and when the call can no longer end well without members that have
// failed and are not acknowledged. The cause says why.
type scope struct {
	context.Context
	over context.Context // the group's, or a context that ends with it
	end  func()
}

// needing is a call under way that needs members.
type needing struct {
	core.Needs
	end context.CancelCauseFunc
}

func (g *Group) scope(ctx context.Context, needs core.Needs) scope {
	over, done := g.ctx, func() {}
	if needs.Parts > 0 && over.Err() == nil { // in a revoked group nothing else counts
		over, done = g.need(needs)
	}
	scoped, cancel := context.WithCancelCause(ctx)
	if over.Err() != nil { // AfterFunc would begin a goroutine
		cancel(context.Cause(over))
		done()
		return scope{scoped, over, func() {}}
	}
	stop := context.AfterFunc(over, func() { cancel(context.Cause(over)) })
	return scope{scoped, over, func() { stop(); cancel(nil); done() }}
}

// need returns a context that ends with the group, and when needed members are lost; done
// ends it.
func (g *Group) need(needs core.Needs) (over context.Context, done func()) {
	w := &needing{Needs: needs}
	over, w.end = context.WithCancelCause(g.ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lost(needs) {
		w.end(g.failure())
	}
	g.waits[w] = struct{}{}
	return over, func() {
		g.mu.Lock()
		delete(g.waits, w)
		g.mu.Unlock()
		w.end(nil)
	}
}

// interrupted returns why the group has ended the scope, as the error of call op, or
// nil.
func (s scope) interrupted(op string) error {
	if s.over.Err() == nil {
		return nil
	}
	return named(context.Cause(s.over), op)
}

// in makes a call in the group. It drops a result that comes after the group has ended.
func in[T any](ctx context.Context, g *Group, op string, needs core.Needs, call func(context.Context) (T, error), drop func(T)) (T, error) {
	s := g.scope(ctx, needs)
	defer s.end()
	var zero T
	if why := s.interrupted(op); why != nil {
		return zero, why
	}
	v, err := call(s)
	why := s.interrupted(op)
	if why == nil || err == nil && g.ctx.Err() == nil { // the call ended well, even if members failed meanwhile
		return v, err
	}
	if err == nil && drop != nil {
		drop(v)
	}
	return zero, why
}

// named returns err, a phalanx.Error, as the error of call op.
func named(err error, op string) error {
	var e *phalanx.Error
	if !errors.As(err, &e) {
		return err
	}
	out := *e
	out.Op = "group " + op
	return &out
}
