package store

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/eventstream"

	"github.com/phalanx-go/phalanx"
)

// life ends the calls that wait when the node is closed.
type life struct {
	once   sync.Once
	ctx    context.Context // ends in Close
	cancel context.CancelFunc
	dead   *eventstream.Subscription
}

// lifetime returns the node's life, and begins it with the first call.
func (e *Env) lifetime() *life {
	l := &e.life
	l.once.Do(func() {
		l.ctx, l.cancel = context.WithCancel(context.Background())
		l.dead = e.System.EventStream.Subscribe(lost)
	})
	return l
}

// closing is closed when Close begins.
func (e *Env) closing() <-chan struct{} { return e.lifetime().ctx.Done() }

// isClosing reports whether Close has begun.
func (e *Env) isClosing() bool { return e.lifetime().ctx.Err() != nil }

// Fence says that the node ends because the cluster has removed it.
func (e *Env) Fence() { e.fenced.Store(true) }

// Ended returns the error of calls that wait when the node is closed.
func (e *Env) Ended() *phalanx.Error {
	if e.fenced.Load() {
		return &phalanx.Error{Node: e.Self, Kind: phalanx.ErrFenced, Err: errors.New("the cluster has removed this node, which joins again unless another process has taken its name")}
	}
	return &phalanx.Error{Node: e.Self, Kind: phalanx.ErrClosed, Err: errors.New("this node has left the cluster")}
}

// flushFor bounds how long Close waits until the store has taken the messages sent before. A
// store that waits for its restart takes longer.
const flushFor = 100 * time.Millisecond

// Close stops the store's actors and everything that they started, and answers the callers
// that wait. Closing twice is safe.
func (e *Env) Close() {
	l := e.lifetime()
	l.cancel()
	if e.StorePID != nil { // first: nothing new is started then
		_ = e.System.Root.RequestFuture(e.StorePID, flush{}, flushFor).Wait() // a stopped store does not answer
		_ = e.System.Root.StopFuture(e.StorePID).Wait()
	}
	var pids []*actor.PID
	e.active.mu.Lock()
	first := !e.active.closed
	e.active.closed = true
	for _, a := range e.active.fetches {
		if a.pid != nil {
			pids = append(pids, a.pid)
		} else {
			e.abandon(a)
		}
		for _, c := range a.take() {
			c.answer(nil, nil, e.Ended())
		}
	}
	pids = slices.AppendSeq(pids, e.active.puts.All())
	e.active.mu.Unlock()
	for _, pid := range pids {
		_ = e.System.Root.StopFuture(pid).Wait()
	}
	if first {
		e.System.EventStream.Unsubscribe(l.dead)
	}
}
