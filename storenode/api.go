package storenode

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// The store's calls for ordinary Go code. Each ends with its context, and after
// the node's default deadline if that has none.

// within returns ctx with the default deadline, if it has none.
func (e *Env) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, e.Deadline)
}

// Get returns a view of the whole object, once it is final.
func (e *Env) Get(ctx context.Context, id phalanx.ObjectID, wait bool) (*View, error) {
	if v := e.Table.View(id); v != nil {
		return v, nil
	}
	ctx, cancel := e.within(ctx)
	defer cancel()
	ch := make(chan *Got, 1)
	cl := &call{id: e.nums.Add(1), op: "get", object: id, wait: wait, deliver: func(g any) { ch <- g.(*Got) }}
	if err := e.ask(ctx, cl); err != nil {
		return nil, err
	}
	select {
	case g := <-ch:
		return g.View, g.Err
	case <-ctx.Done():
		e.giveUp(ctx, cl)
		g := <-ch
		return g.View, g.Err
	}
}

// Open returns a reader of the object's bytes as they arrive. The reader ends
// with ctx.
func (e *Env) Open(ctx context.Context, id phalanx.ObjectID, wait bool) (*Reader, error) {
	bounded, cancel := e.within(ctx)
	defer cancel()
	ch := make(chan *Opened, 1)
	cl := e.openCall(Open{Object: id, NoWait: !wait}, func(g any) { ch <- g.(*Opened) })
	cl.id, cl.ctx = e.nums.Add(1), ctx
	if err := e.ask(bounded, cl); err != nil {
		return nil, err
	}
	select {
	case g := <-ch:
		return g.Reader, g.Err
	case <-bounded.Done():
		e.giveUp(bounded, cl)
		g := <-ch
		return g.Reader, g.Err
	}
}

// ask hands cl to the store.
func (e *Env) ask(ctx context.Context, cl *call) error {
	if err := cl.object.Validate(); err != nil {
		return withOp(cl.op, cl.object, err)
	}
	if ctx.Err() != nil {
		return contextError(cl.op, cl.object, ctx.Err(), "", "the context had ended before the call")
	}
	e.send(e.StorePID, want{cl})
	return nil
}

// giveUpAfter bounds how long a call waits for the store to say why it was late.
const giveUpAfter = time.Second

// giveUp has the store answer a call whose context has ended: it knows what was
// missing. A store that does not is not waited for.
func (e *Env) giveUp(ctx context.Context, cl *call) {
	if errors.Is(ctx.Err(), context.Canceled) {
		e.send(e.StorePID, left{cl.object, cl.id})
		cl.answer(nil, nil, contextError(cl.op, cl.object, ctx.Err(), "", "the caller went away"))
		return
	}
	e.send(e.StorePID, expiry{cl})
	cl.timer = time.AfterFunc(giveUpAfter, func() {
		cl.answer(nil, nil, contextError(cl.op, cl.object, ctx.Err(), e.Self, "the node is too busy to say why"))
	})
}

func (e *Env) openCall(m Open, deliver func(any)) *call {
	return &call{op: "open", object: m.Object, wait: !m.NoWait, reader: true, ctx: context.Background(), deliver: deliver}
}

// Put creates an object.
func (e *Env) Put(ctx context.Context, req Put) (Info, bool, error) {
	ctx, cancel := e.within(ctx)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return Info{}, false, contextError("put", req.Object, err, "", "the context had ended before the call")
	}
	deadline, _ := ctx.Deadline()
	req.Deadline = time.Until(deadline)
	done := make(chan *PutDone, 1)
	var stop func(*phalanx.Error)
	started := make(chan func(*phalanx.Error), 1)
	e.send(e.StorePID, putCall{req: req, done: func(d *PutDone) { done <- d }, started: func(f func(*phalanx.Error)) { started <- f }})
	for {
		select {
		case d := <-done:
			return d.Info, d.Existed, d.Err
		case stop = <-started:
		case <-ctx.Done():
			if stop != nil && errors.Is(ctx.Err(), context.Canceled) {
				stop(contextError("put", req.Object, ctx.Err(), "", "the caller went away"))
			}
			d := <-done // the put's own timer ends it; the caller's bytes are free then
			return d.Info, d.Existed, d.Err
		}
	}
}

// Delete removes the object everywhere and calls done once its tombstone is
// durable. This node's copy is gone by then; other holders are told.
func (e *Env) Delete(id phalanx.ObjectID, deadline time.Duration, done func(error)) {
	e.simple("delete", id, deadline, directory.Delete{}, func(_ directory.Result, err error) {
		if err == nil {
			e.Table.dropObject(id, everyGeneration, errDeletedHere(e.Self))
		}
		done(err)
	})
}

// everyGeneration is not less than any generation.
var everyGeneration = phalanx.Generation{Epoch: math.MaxUint64, Seq: math.MaxUint64}

func errDeletedHere(self phalanx.NodeID) error {
	return &dataplane.Ended{Reason: dataplane.Gone, Kind: phalanx.ErrDeleted, Node: self}
}

// Stat asks the owner what it knows of the object.
func (e *Env) Stat(id phalanx.ObjectID, deadline time.Duration, done func(ObjectStat, error)) {
	e.simple("stat", id, deadline, directory.Stat{}, func(r directory.Result, err error) {
		switch {
		case err != nil:
			done(ObjectStat{}, err)
		case r.Stat == nil || r.Stat.State == directory.Unbound:
			done(ObjectStat{}, &phalanx.Error{Op: "stat", Object: id, Kind: phalanx.ErrNotFound, Err: errors.New("nobody has announced it")})
		case r.Stat.State == directory.Deleted:
			done(*r.Stat, &phalanx.Error{Op: "stat", Object: id, Kind: phalanx.ErrDeleted, Err: errors.New("it was deleted")})
		default:
			done(*r.Stat, nil)
		}
	})
}

// simple sends one request and calls done once, by the deadline.
func (e *Env) simple(op string, id phalanx.ObjectID, deadline time.Duration, body directory.Body, done func(directory.Result, error)) {
	if err := id.Validate(); err != nil {
		done(directory.Result{}, withOp(op, id, err))
		return
	}
	num := e.Directory.Nums(1)
	answer := once(done)
	timer := time.AfterFunc(deadline, func() {
		e.Directory.Forget(num)
		answer(directory.Result{}, &phalanx.Error{Op: op, Object: id, Node: e.Directory.Owner(id), Kind: phalanx.ErrDeadline,
			Err: fmt.Errorf("its directory shard did not answer for %v", deadline)})
	})
	e.Directory.Request(id, num, body, func(owner phalanx.NodeID, r directory.Result) {
		if r.Waiting {
			return
		}
		timer.Stop()
		if r.Kind != 0 {
			answer(r, &phalanx.Error{Op: op, Object: id, Node: owner, Kind: r.Kind, Err: errors.New(r.Text)})
			return
		}
		answer(r, nil)
	})
}

// Call runs an asynchronous call until it is done or ctx ends.
func Call[T any](ctx context.Context, e *Env, op string, id phalanx.ObjectID, start func(deadline time.Duration, done func(T, error))) (T, error) {
	type result struct {
		v   T
		err error
	}
	ctx, cancel := e.within(ctx)
	defer cancel()
	deadline, _ := ctx.Deadline()
	var zero T
	if err := ctx.Err(); err != nil {
		return zero, contextError(op, id, err, "", "the context had ended before the call")
	}
	ch := make(chan result, 1)
	start(time.Until(deadline), func(v T, err error) { ch <- result{v, err} })
	select {
	case r := <-ch:
		return r.v, r.err
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.Canceled) {
			return zero, contextError(op, id, ctx.Err(), "", "the caller went away")
		}
		select { // the call's own timer says why
		case r := <-ch:
			return r.v, r.err
		case <-time.After(giveUpAfter):
			return zero, contextError(op, id, ctx.Err(), e.Self, "the node is too busy to say why")
		}
	}
}

func once(done func(directory.Result, error)) func(directory.Result, error) {
	first := make(chan struct{}, 1)
	first <- struct{}{}
	return func(r directory.Result, err error) {
		select {
		case <-first:
			done(r, err)
		default:
		}
	}
}

var _ actor.Actor = (*Store)(nil)
