package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode"
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
func (e *Env) Get(ctx context.Context, id phalanx.ObjectID, wait bool) (*storenode.View, error) {
	if ctx.Err() == nil {
		if v := e.Table.View(id); v != nil {
			return v, nil
		}
	}
	bounded, cancel := e.within(ctx)
	defer cancel()
	ch := make(chan *storenode.Got, 1)
	e.ask(bounded, &call{op: "get", object: id, wait: wait, deliver: func(g any) { ch <- g.(*storenode.Got) }})
	g := <-ch
	return g.View, g.Err
}

// Open returns a reader of the object's bytes as they arrive. The reader ends
// with ctx.
func (e *Env) Open(ctx context.Context, id phalanx.ObjectID, wait bool) (*storenode.Reader, error) {
	bounded, cancel := e.within(ctx)
	defer cancel()
	return e.openUntil(bounded, ctx, id, wait)
}

// openUntil is Open that waits until bounded ends.
func (e *Env) openUntil(bounded, ctx context.Context, id phalanx.ObjectID, wait bool) (*storenode.Reader, error) {
	ch := make(chan *storenode.Opened, 1)
	cl := openCall(storenode.Open{Object: id, NoWait: !wait}, func(g any) { ch <- g.(*storenode.Opened) })
	cl.ctx = ctx
	if _, ends := ctx.Deadline(); !ends {
		cl.idle = e.Deadline
	}
	e.ask(bounded, cl)
	g := <-ch
	return g.Reader, g.Err
}

// ask hands cl to the store and returns when it was answered, which is at the
// latest soon after ctx has ended.
func (e *Env) ask(ctx context.Context, cl *call) {
	cl.id, cl.over = e.nums.Add(1), make(chan struct{})
	if err := cl.object.Validate(); err != nil {
		cl.answer(nil, nil, err)
		return
	}
	if ctx.Err() != nil {
		cl.answer(nil, nil, ContextError(cl.op, cl.object, context.Cause(ctx), "", "the context had ended before the call"))
		return
	}
	e.send(e.StorePID, want{cl})
	select {
	case <-cl.over:
	case <-e.closing():
		cl.answer(nil, nil, e.Ended())
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.Canceled) {
			if cl.answer(nil, nil, ContextError(cl.op, cl.object, context.Cause(ctx), "", "the caller went away")) { // else it may have a Reader, which needs the fetch
				e.send(e.StorePID, left{cl.object, cl.id})
			}
			return
		}
		e.late(cl)
		select {
		case <-cl.over:
		case <-e.closing():
			cl.answer(nil, nil, e.Ended())
		}
	}
}

const (
	// giveUpAfter bounds how long a call waits after its deadline for the store's reason.
	giveUpAfter = time.Second
	noReason    = "the store has not answered for 1 s after the deadline" // giveUpAfter
)

// late has the store answer a call whose deadline has passed: the store knows the reason.
// After giveUpAfter the call ends without the store.
func (e *Env) late(cl *call) {
	e.send(e.StorePID, expiry{cl})
	time.AfterFunc(giveUpAfter, func() {
		cl.answer(nil, nil, ContextError(cl.op, cl.object, context.DeadlineExceeded, e.Self, noReason))
	})
}

func openCall(m storenode.Open, deliver func(any)) *call {
	return &call{op: "open", object: m.Object, wait: !m.NoWait, reader: true, ctx: context.Background(), deliver: deliver}
}

// stopper ends a put for its caller. The caller may go away before the put has begun.
type stopper struct {
	mu  sync.Mutex
	put func(*phalanx.Error) // stops a put that has begun
	off bool                 // the put must not begin any more
}

// begin notes how to stop a put. The put calls it before anything else; false if its
// caller has gone away.
func (s *stopper) begin(put func(*phalanx.Error)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.off {
		return false
	}
	s.put = put
	return true
}

// stop has the put end with why, and reports whether the put has begun: then it will
// answer, else it never begins.
func (s *stopper) stop(why *phalanx.Error) (begun bool) {
	s.mu.Lock()
	put := s.put
	s.off = true
	s.mu.Unlock()
	if put != nil {
		put(why)
	}
	return put != nil
}

// Put creates an object. It returns when nothing reads req.Bytes any more.
func (e *Env) Put(ctx context.Context, req storenode.Put) (storenode.Info, bool, error) {
	ctx, cancel := e.within(ctx)
	defer cancel()
	if err := req.Object.Validate(); err != nil {
		return storenode.Info{}, false, withOp("put", req.Object, err)
	}
	if err := ctx.Err(); err != nil {
		return storenode.Info{}, false, ContextError("put", req.Object, context.Cause(ctx), "", "the context had ended before the call")
	}
	req.Deadline = untilDeadline(ctx)
	done := make(chan *storenode.PutDone, 1)
	stop := &stopper{}
	e.send(e.StorePID, putCall{req: req, done: func(d *storenode.PutDone) { done <- d }, stop: stop})
	d, why := e.awaitPut(ctx, req.Object, done)
	if d == nil {
		if !stop.stop(why) {
			if why.Kind == phalanx.ErrDeadline {
				why.Err = errors.New("the node has not begun the Put before its deadline: it has put nothing")
			}
			return storenode.Info{}, false, withOp("put", req.Object, why)
		}
		d = <-done
	}
	return d.Info, d.Existed, d.Err
}

// awaitPut waits for a put's answer, or returns why the caller stops waiting.
func (e *Env) awaitPut(ctx context.Context, id phalanx.ObjectID, done <-chan *storenode.PutDone) (*storenode.PutDone, *phalanx.Error) {
	select {
	case d := <-done:
		return d, nil
	case <-e.closing():
		return nil, e.Ended()
	case <-ctx.Done():
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil, ContextError("put", id, context.Cause(ctx), "", "the caller went away")
	}
	late := time.NewTimer(giveUpAfter) // the put's own timer gives the reason
	defer late.Stop()
	select {
	case d := <-done:
		return d, nil
	case <-e.closing():
		return nil, e.Ended()
	case <-late.C:
		return nil, ContextError("put", id, context.DeadlineExceeded, e.Self, noReason)
	}
}

// untilDeadline returns how long ctx, which has a deadline, may still take.
func untilDeadline(ctx context.Context) time.Duration {
	deadline, _ := ctx.Deadline()
	return max(time.Until(deadline), 1) // 0 would stand for the default
}

// Delete removes the object everywhere and calls done once its tombstone is
// durable. This node has dropped its copy by then; the owner tells the other holders.
func (e *Env) Delete(id phalanx.ObjectID, deadline time.Duration, done func(error)) {
	e.delete(id, e.Now()+deadline, directory.Delete{}, done)
}

func (e *Env) delete(id phalanx.ObjectID, until time.Duration, d directory.Delete, done func(error)) {
	e.simple("delete", id, until-e.Now(), d, func(r directory.Result, err error) {
		if next, follows := d.Then(r); err == nil && follows {
			e.delete(id, until, next, done)
			return
		}
		if err == nil { // another caller may have put it again since
			e.Table.dropObject(id, r.Gen, errDeletedHere(e.Self))
		}
		done(err)
	})
}

func errDeletedHere(self phalanx.NodeID) error {
	return &dataplane.Ended{Reason: dataplane.Gone, Kind: phalanx.ErrDeleted, Node: self}
}

// Stat asks the owner for its record of the object.
func (e *Env) Stat(id phalanx.ObjectID, deadline time.Duration, done func(storenode.ObjectStat, error)) {
	e.simple("stat", id, deadline, directory.Stat{}, func(r directory.Result, err error) {
		switch {
		case err != nil:
			done(storenode.ObjectStat{}, err)
		case r.Stat == nil || r.Stat.State == directory.Unbound:
			done(storenode.ObjectStat{}, &phalanx.Error{Op: "stat", Object: id, Kind: phalanx.ErrNotFound, Err: errors.New("nobody has announced it")})
		case r.Stat.State == directory.Deleted:
			done(*r.Stat, &phalanx.Error{Op: "stat", Object: id, Kind: phalanx.ErrDeleted, Err: errors.New("the object was deleted")})
		default:
			done(*r.Stat, nil)
		}
	})
}

// simple sends one request and calls done once: by the deadline, or when the node is
// closed.
func (e *Env) simple(op string, id phalanx.ObjectID, deadline time.Duration, body directory.Body, done func(directory.Result, error)) {
	if err := id.Validate(); err != nil {
		done(directory.Result{}, withOp(op, id, err))
		return
	}
	num := e.Directory.Nums(1)
	var once sync.Once
	answer := func(r directory.Result, err error) { once.Do(func() { done(r, err) }) }
	ctx, cancel := context.WithTimeout(e.lifetime().ctx, deadline)
	stop := context.AfterFunc(ctx, func() {
		cancel()
		e.Directory.Forget(num)
		if e.isClosing() {
			answer(directory.Result{}, withOp(op, id, e.Ended()))
			return
		}
		answer(directory.Result{}, &phalanx.Error{Op: op, Object: id, Node: e.Directory.Owner(id), Kind: phalanx.ErrDeadline,
			Err: fmt.Errorf("its directory shard did not answer for %v", deadline)})
	})
	e.Directory.Request(id, num, body, func(owner phalanx.NodeID, r directory.Result) {
		if r.Waiting {
			return
		}
		stop()
		cancel()
		if r.Kind != 0 {
			answer(r, &phalanx.Error{Op: op, Object: id, Node: owner, Kind: r.Kind, Err: errors.New(r.Text)})
			return
		}
		answer(r, nil)
	})
	e.Directory.Impatient(num, func(err *phalanx.Error) {
		stop()
		cancel()
		e.Directory.Forget(num)
		answer(directory.Result{}, withOp(op, id, err))
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
	var zero T
	if err := ctx.Err(); err != nil {
		return zero, ContextError(op, id, context.Cause(ctx), "", "the context had ended before the call")
	}
	ch := make(chan result, 1)
	start(untilDeadline(ctx), func(v T, err error) { ch <- result{v, err} })
	select {
	case r := <-ch:
		return r.v, r.err
	case <-e.closing():
		return zero, withOp(op, id, e.Ended())
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.Canceled) {
			return zero, ContextError(op, id, context.Cause(ctx), "", "the caller went away")
		}
		select { // the call's own timer gives the reason
		case r := <-ch:
			return r.v, r.err
		case <-time.After(giveUpAfter):
			return zero, ContextError(op, id, context.Cause(ctx), e.Self, noReason)
		}
	}
}

var _ actor.Actor = (*Store)(nil)
