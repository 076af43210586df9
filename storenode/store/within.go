package store

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/storenode"
)

// within does a request that ends with a context.
func (s *Store) within(c actor.Context, m storenode.Within) {
	give, env := s.giver(c), s.env
	go func() {
		give(env.do(m.Context, m.Request))
		if m.Over != nil {
			m.Over()
		}
	}()
}

// do does a request and returns its answer.
func (e *Env) do(ctx context.Context, request any) any {
	bounded := func(deadline time.Duration) (context.Context, context.CancelFunc) {
		return context.WithTimeout(ctx, cmp.Or(max(0, deadline), e.Deadline))
	}
	if isNil(request) {
		return notWithin(nil)
	}
	switch r := request.(type) {
	case *storenode.Get:
		ctx, cancel := bounded(r.Deadline)
		defer cancel()
		v, err := e.Get(ctx, r.Object, !r.NoWait)
		return &storenode.Got{Object: r.Object, View: v, Err: err}
	case *storenode.Open:
		return e.open(ctx, r)
	case *storenode.Put:
		ctx, cancel := bounded(r.Deadline)
		defer cancel()
		info, existed, err := e.Put(ctx, *r)
		return &storenode.PutDone{Object: r.Object, Info: info, Existed: existed, Err: err}
	case *storenode.Reduce:
		ctx, cancel := bounded(r.Deadline)
		defer cancel()
		result, err := e.Coordinators.Run(ctx, *r, nil)
		return &storenode.Reduced{Target: r.Target, Result: result, Err: err}
	case *storenode.Gather:
		ctx, cancel := bounded(r.Deadline)
		defer cancel()
		g := e.Gather(ctx, *r, "gather")
		return &g
	case *storenode.AllReduce:
		ctx, cancel := bounded(r.Deadline)
		defer cancel()
		d := e.AllReduce(ctx, *r)
		return &d
	}
	return notWithin(request)
}

func notWithin(request any) *phalanx.Error {
	return &phalanx.Error{Op: "within", Kind: phalanx.ErrInvalid, Err: fmt.Errorf("a caller cannot give up a %T", request)}
}

// open is Open with a deadline until the reader is there; the reader ends with ctx.
func (e *Env) open(ctx context.Context, r *storenode.Open) *storenode.Opened {
	bounded, cancel := context.WithTimeout(ctx, cmp.Or(max(0, r.Deadline), e.Deadline))
	defer cancel()
	reader, err := e.openUntil(bounded, ctx, r.Object, !r.NoWait)
	return &storenode.Opened{Object: r.Object, Reader: reader, Err: err}
}
