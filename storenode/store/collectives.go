package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/storenode"
)

// bounded calls f with a context that ends after a deadline; 0 stands for the node's
// default.
func (e *Env) bounded(deadline time.Duration, f func(context.Context)) {
	if deadline <= 0 {
		deadline = e.Deadline
	}
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	f(ctx)
}

// Gather gets the first g.Num of g.Sources that are complete here. It is called
// op in errors.
func (e *Env) Gather(ctx context.Context, g storenode.Gather, op string) storenode.Gathered {
	if g.Num == 0 {
		g.Num = len(g.Sources)
	}
	if err := validate(g); err != nil {
		err.Op = op
		return storenode.Gathered{Err: err}
	}
	ctx, cancel := e.within(ctx)
	defer cancel()
	type arrived struct {
		index int
		view  *storenode.View
		err   error
	}
	arrivals := make(chan arrived, len(g.Sources))
	for i, id := range g.Sources {
		go func() {
			v, err := e.Get(ctx, id, true)
			arrivals <- arrived{i, v, err}
		}()
	}
	out := storenode.Gathered{Views: make([]*storenode.View, len(g.Sources))}
	var failed error
	failures := 0
	for range g.Sources {
		a := <-arrivals
		switch {
		case a.err == nil && len(out.In) < g.Num:
			out.Views[a.index], out.In = a.view, append(out.In, g.Sources[a.index])
			if len(out.In) == g.Num {
				cancel()
			}
		case a.err == nil: // late
			a.view.Release()
		default:
			if failures++; failures == 1 {
				failed = a.err
			}
			if failures > len(g.Sources)-g.Num {
				cancel() // there cannot be enough
			}
		}
	}
	if len(out.In) < g.Num {
		for _, v := range out.Views {
			if v != nil {
				v.Release()
			}
		}
		return storenode.Gathered{Err: withOp(op, "", failed)}
	}
	for i, id := range g.Sources {
		if out.Views[i] == nil {
			out.Out = append(out.Out, id)
		}
	}
	return out
}

func validate(g storenode.Gather) *phalanx.Error {
	bad := func(format string, args ...any) *phalanx.Error {
		return &phalanx.Error{Kind: phalanx.ErrInvalid, Err: fmt.Errorf(format, args...)}
	}
	switch {
	case len(g.Sources) == 0:
		return bad("there are no sources")
	case g.Num < 0 || g.Num > len(g.Sources):
		return bad("Num is %d: give 1 to %d, the number of sources, or 0 for all", g.Num, len(g.Sources))
	}
	seen := map[phalanx.ObjectID]bool{}
	for _, id := range g.Sources {
		var e *phalanx.Error
		if err := id.Validate(); errors.As(err, &e) {
			return e
		}
		if seen[id] {
			err := bad("the source was given twice")
			err.Object = id
			return err
		}
		seen[id] = true
	}
	return nil
}
