package workflow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	"github.com/phalanx-go/phalanx/storenode"
)

// instance is an actor of a workflow, on the node where it lives. It is also an actor of the node's actor system, so that it does one thing at a time
// and is supervised: a panic ends it.
type instance struct {
	kind  *actorKind
	name  string
	state any
	made  bool          // it has a state
	node  *cluster.Node // nil: a Trial without one
	store objects
	notes func(id phalanx.ObjectID)              // an object before it is put; nil: nobody needs to know
	ended func(p performing, a flow.ActorAnswer) // is called with each answer
	trial sync.Mutex                             // has an instance of a Trial do one thing at a time
	died  func(why string)                       // is called if it is no more
}

// performing is what an instance is asked to do.
type performing struct {
	ctx  context.Context
	from phalanx.NodeID
	call flow.ActorCall
}

// Receive does what the instance is asked to do.
func (i *instance) Receive(c actor.Context) {
	p, is := c.Message().(performing)
	if !is {
		if _, ends := c.Message().(*actor.Stopped); ends {
			i.close()
		}
		return
	}
	a, crash := i.perform(p)
	if crash != nil {
		i.died(crashText(crash))
		panic(crash.Value)
	}
	i.ended(p, a)
	if !i.made {
		i.died("it could not be made")
		c.Stop(c.Self())
	}
}

func crashText(crash *PanicError) string {
	return fmt.Sprintf("it has panicked: %s\n%s", crash.Value, crash.Stack)
}

// close closes the state, if that can be.
func (i *instance) close() {
	if closer, is := i.state.(io.Closer); is && i.made {
		_ = guarded(closer.Close) // nobody waits for the actor any more
	}
}

// perform does it, and returns the answer, or how it has ended the actor. It has a goroutine of its own, so that a runtime.Goexit does not end
// another one.
func (i *instance) perform(p performing) (a flow.ActorAnswer, crash *PanicError) {
	a = flow.ActorAnswer{Number: p.call.Number, End: flow.ActorDone}
	err := context.Cause(p.ctx)
	if err == nil {
		c := &instanceContext{Context: p.ctx, of: i}
		done := make(chan struct{})
		go func() {
			defer close(done)
			crash = &PanicError{Value: "it has called runtime.Goexit, or a test's FailNow"}
			crashed := guarded(func() (_ error) {
				a.Bytes, a.Large, err = i.act(c, p.call)
				err = sound(err)
				return nil
			})
			if crash = nil; crashed != nil {
				errors.As(crashed, &crash)
			}
		}()
		<-done
		c.end()
	}
	switch {
	case crash != nil:
		return a, crash
	case errors.Is(err, errNoPut):
		return flow.ActorAnswer{Number: a.Number, End: flow.ActorGone, Why: err.Error()}, nil
	case err != nil:
		return flow.ActorAnswer{Number: a.Number, End: flow.ActorFailed, Why: shorten(err.Error(), maxErrorText), Final: errors.Is(err, errNever) || IsPermanent(err)}, nil
	}
	return a, nil
}

var (
	errNoPut = errors.New("the actor's node is leaving")
	errNever = errors.New("raise the version of a kind that changes")
)

func (i *instance) act(c *instanceContext, m flow.ActorCall) (b []byte, large flow.Ref, err error) {
	arg := m.Bytes
	if m.Large.Object != "" {
		v, err := i.store.TryGet(c, m.Large.Object)
		if err != nil {
			return nil, large, err
		}
		defer v.Release()
		if v.Info().Digest != m.Large.Digest {
			return nil, large, errUnlike(Ref{id: m.Large.Object})
		}
		arg = v.Bytes()
	}
	switch m.Deed {
	case flow.ActorMake:
		init, err := i.kind.init.decode(arg)
		if err != nil {
			return nil, large, fmt.Errorf("what it is made of is no %v: %w", i.kind.init.typ, err)
		}
		i.state, err = i.kind.make(c, init)
		return nil, large, i.begun(err)
	case flow.ActorRestore:
		if i.kind.load == nil {
			return nil, large, fmt.Errorf("%w; %w", errNoSnapshots, errNever)
		}
		i.state, err = i.kind.load(c, append([]byte(nil), arg...))
		return nil, large, i.begun(err)
	case flow.ActorSave:
		if i.kind.save == nil {
			return nil, large, fmt.Errorf("%w; %w", errNoSnapshots, errNever)
		}
		if b, err = i.kind.save(i.state); err != nil {
			return nil, large, err
		}
		large, err = i.put(c, m.Object, b)
		return nil, large, err
	}
	if b, err = i.call(c, m.Name, arg); err != nil || len(b) <= flow.MaxActorBytes {
		return b, large, err
	}
	large, err = i.put(c, m.Object, b)
	return nil, large, err
}

// begun notes whether the actor has a state.
func (i *instance) begun(err error) error {
	if err == nil && i.state == nil {
		err = errors.New("its state is nil")
	}
	i.made = err == nil
	return err
}

// call calls a method.
func (i *instance) call(c *instanceContext, name string, arg []byte) ([]byte, error) {
	m := i.kind.methods[name]
	if m == nil {
		return nil, fmt.Errorf("%s has no method %q on this node: %w", i.kind.full(), name, errNever)
	}
	v, err := m.arg.decode(arg)
	if err != nil {
		return nil, fmt.Errorf("the argument is no %v: %w", m.arg.typ, err)
	}
	if v, err = m.call(c, i.state, v); err != nil {
		return nil, err
	}
	b, err := m.result.encode(v)
	if err != nil {
		return nil, fmt.Errorf("the result cannot be sent: %w", err)
	}
	return append([]byte(nil), b...), nil // it may be the actor's own memory
}

// put makes an object.
func (i *instance) put(ctx context.Context, id phalanx.ObjectID, b []byte) (flow.Ref, error) {
	if i.notes != nil {
		i.notes(id)
	}
	info, err := i.store.Put(ctx, id, b, phalanx.Meta{})
	if errors.Is(err, phalanx.ErrClosed) {
		err = fmt.Errorf("%w: %w", errNoPut, err)
	}
	return flow.Ref{Object: id, Meta: info.Meta, Digest: info.Digest}, err
}

// instanceContext is the ActorContext of a call.
type instanceContext struct {
	context.Context
	of *instance

	mu    sync.Mutex
	over  bool
	views []*storenode.View
}

var _ ActorContext = (*instanceContext)(nil)

func (c *instanceContext) Name() string        { return c.of.name }
func (c *instanceContext) Node() *cluster.Node { return c.of.node }

func (c *instanceContext) Get(r Ref) (*storenode.View, error) {
	v, err := c.of.store.TryGet(c, r.id)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.over:
		v.Release()
		return nil, &phalanx.Error{Op: "get", Object: r.id, Kind: phalanx.ErrClosed, Err: ErrEnded}
	case v.Info().Digest != r.digest || v.Meta().Size != r.size:
		v.Release()
		return nil, errUnlike(r)
	}
	c.views = append(c.views, v)
	return v, nil
}

// end releases what the method has not released.
func (c *instanceContext) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	for _, v := range c.views {
		v.Release()
	}
	c.views = nil
}
