package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/messages"
	rnode "github.com/phalanx-go/phalanx/node/reduce"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/reduce"
	"github.com/phalanx-go/phalanx/storenode"
	"github.com/phalanx-go/phalanx/storenode/dataplane/combine"
	"github.com/phalanx-go/phalanx/storenode/store"
)

// Watcher has the owner of an object tell its readiness.
type Watcher interface {
	Watch(id phalanx.ObjectID, num uint64, deliver func(directory.Readiness))
}

// Env has the things that the coordinators of a node share.
type Env struct {
	Store   *store.Env
	Watcher Watcher
	Ops     *combine.Registry
	Now     func() time.Duration
	// Spawn starts an actor that is restarted when it fails.
	Spawn func(props *actor.Props, name string) (*actor.PID, error)
	// PlacesOn returns the actor that takes orders for the places of a node.
	PlacesOn func(node phalanx.NodeID) (*actor.PID, bool)
	// Network returns the latency, one way, and the bandwidth in bytes per second
	// that a reduce is planned with where nothing was measured, and the paths to other
	// nodes that were.
	Network func() (time.Duration, float64, map[phalanx.NodeID]reduce.Path)

	mu      sync.Mutex
	runs    runs
	spawned uint64
	closed  bool
	leaving []phalanx.NodeID // members that are about to leave
}

// Reduce runs r and calls done once.
func (e *Env) Reduce(r storenode.Reduce, done func(storenode.Reduced)) {
	_, _, _ = e.start(r, false, done) // done hears of the error too
}

// start begins a reduce and returns how to cancel it, and how to tell it something.
func (e *Env) start(r storenode.Reduce, shared bool, done func(storenode.Reduced)) (cancel func(*phalanx.Error), tell func(rnode.Event), err error) {
	if r.Num == 0 {
		r.Num = len(r.Sources)
	}
	if r.Deadline <= 0 {
		r.Deadline = e.Store.Deadline
	}
	work := &run{req: r, shared: shared, done: done, tree: newTreeState()}
	fail := func(err *phalanx.Error) error {
		err.Op, err.Object, err.Node = "reduce", r.Target, e.Store.Self
		work.answer(storenode.Reduced{Target: r.Target, Err: err})
		return err
	}
	if r.Op != "" { // an op that there never is must not wait for its sources
		if err := e.Ops.Known(r.Op); err != nil {
			kind, text := combine.Failure(err)
			return nil, nil, fail(&phalanx.Error{Kind: kind, Err: errors.New(text)})
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, nil, fail(e.Store.Ended())
	}
	if e.Store.Leaves() {
		return nil, nil, fail(e.Store.Leaving())
	}
	e.spawned++
	pid, err := e.Spawn(actor.PropsFromProducer(func() actor.Actor {
		return &Coordinator{env: e, run: work}
	}), fmt.Sprintf("reduce-%d", e.spawned))
	if err != nil {
		return nil, nil, fail(&phalanx.Error{Kind: phalanx.ErrInternal, Err: err})
	}
	work.pid = pid
	e.runs.add(work)
	tell = func(m rnode.Event) { e.Store.System.Root.Send(pid, m) }
	return func(err *phalanx.Error) { tell(rnode.Canceled{Err: err}) }, tell, nil
}

// Close ends every reduce that this node coordinates; its callers are answered.
// Closing twice is safe.
func (e *Env) Close() {
	e.mu.Lock()
	e.closed = true
	all := e.runs.all()
	e.mu.Unlock()
	for _, r := range all {
		err := e.Store.Ended()
		err.Op, err.Object, err.Node = "reduce", r.req.Target, e.Store.Self
		r.answer(storenode.Reduced{Target: r.req.Target, Err: err})
		_ = e.Store.System.Root.StopFuture(r.pid).Wait()
	}
}

// Run is Reduce for ordinary Go code: it ends with ctx. If others ask for the same
// at this time, shared is not nil, and brings the target when it is seen to be final.
func (e *Env) Run(ctx context.Context, r storenode.Reduce, shared <-chan storenode.Info) (storenode.ReduceResult, error) {
	if d, ok := ctx.Deadline(); ok {
		r.Deadline = time.Until(d)
	} else if r.Deadline <= 0 {
		r.Deadline = e.Store.Deadline
	}
	if ctx.Err() != nil || r.Deadline <= 0 {
		return storenode.ReduceResult{}, store.ContextError("reduce", r.Target, context.Cause(ctx), "", "the context had ended before the call")
	}
	ch := make(chan storenode.Reduced, 1)
	cancel, tell, err := e.start(r, shared != nil, func(d storenode.Reduced) { ch <- d })
	if err != nil {
		d := <-ch
		return d.Result, d.Err
	}
	for waiting := true; waiting; {
		select {
		case d := <-ch:
			return d.Result, d.Err
		case target := <-shared:
			tell(rnode.Made{Gen: target.Gen, Meta: target.Meta, Digest: target.Digest})
		case <-ctx.Done():
			waiting = false
		}
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		cancel(store.ContextError("reduce", r.Target, context.Cause(ctx), "", "the caller went away"))
		d := <-ch
		return d.Result, d.Err
	}
	select { // the core's own deadline gives the reason
	case d := <-ch:
		return d.Result, d.Err
	case <-time.After(time.Second):
		cancel(store.ContextError("reduce", r.Target, ctx.Err(), "", "not enough sources became ready"))
		d := <-ch
		return d.Result, d.Err
	}
}

// NodeGone tells every reduce that a node is suspected, or with down that it has
// left the view.
func (e *Env) NodeGone(id phalanx.NodeID, down bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.runs.all() {
		e.Store.System.Root.Send(r.pid, rnode.NodeGone{Node: id, Down: down})
	}
}

// Leaving tells every reduce which members are about to leave.
func (e *Env) Leaving(nodes []phalanx.NodeID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if slices.Equal(nodes, e.leaving) {
		return
	}
	e.leaving = nodes
	for _, r := range e.runs.all() {
		e.Store.System.Root.Send(r.pid, rnode.Leaving{Nodes: nodes})
	}
}

// leavers returns the members that are about to leave.
func (e *Env) leavers() []phalanx.NodeID {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.leaving
}

// Targets returns the targets of the reduces that this node coordinates.
func (e *Env) Targets() []phalanx.ObjectID {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []phalanx.ObjectID
	for _, r := range e.runs.all() {
		out = append(out, r.req.Target)
	}
	return out
}

// GiveUp ends the reduces that this node coordinates. Their callers are told that it
// leaves.
func (e *Env) GiveUp() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.runs.all() {
		e.Store.System.Root.Send(r.pid, rnode.Canceled{Err: e.Store.Leaving()})
	}
}

// Heard takes a report to the Reduce on this node that it is about.
func (e *Env) Heard(m *messages.PlaceReport) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.runs.byTarget[phalanx.ObjectID(m.GetTarget())] {
		e.Store.System.Root.Send(r.pid, m)
	}
}

// forget takes note that r has ended; it reports whether the node is about to.
func (e *Env) forget(r *run) (closing bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.runs.remove(r)
	return e.closed
}

// Running returns how many reduces this node coordinates.
func (e *Env) Running() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.runs.byOrder)
}
