package workflow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/messages"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// attempt is what a node is asked to do: to run a task, its undo or its compensation, once.
type attempt struct {
	run    string // the run's uid
	uid    core.UID
	path   string // of the task in the run: its index, behind those of the tasks that it is an expansion of
	gen    uint32
	kind   core.Kind
	call   messages.GraphCall
	args   []supply
	output *given // of MakeUp: the task's own

	fence    Fence        // of TakeBack: up to which attempts are undone
	made     core.Attempt // objects of tasks that are not deterministic are named by it
	id       core.Attempt // of the attempt itself; zero: as made
	number   int          // of the attempt, from 1
	progress []byte       // of the attempt before

	keeps func(id phalanx.ObjectID)                                     // notes that the node gets a copy of an object; nil: nobody needs to know
	drops func(id phalanx.ObjectID)                                     // deletes an object that the attempt needs no more; nil: it stays
	again func(ctx context.Context, w flow.Wish) (gone bool, err error) // has the object of a checkpoint put again; nil: nobody can
}

// supply is an argument of which the bytes may have to be got: a given, or a list.
type supply struct {
	given  given
	list   []supply
	isList bool
}

// given is an output of another task, or a constant.
type given struct {
	bytes  []byte
	object Ref           // it has the bytes, if it is not zero
	bundle bool          // the object lists those that the output names as well
	from   *core.Located // of an output
	reads  bool          // the task only reads the actors in it
	failed string        // the error of a task, which the consumer takes; "": it has none
}

// ended is how an attempt has ended.
type ended struct {
	output  core.Output
	object  Ref                               // it has the output, if that is not in output
	refs    []Ref                             // in the output
	expands bool                              // the output is a recorded graph
	err     error                             // nil: it has ended well
	final   bool                              // another attempt would fail as well
	closed  bool                              // the store of the node takes no objects any more, or an actor of the attempt's own was lost: that is no failure
	missing []phalanx.ObjectID                // inputs that no node has
	torn    []core.Blob                       // inputs that name an object that no node has
	unsaved []core.Blob                       // those of torn whose checkpoint no disk has any more
	partly  []int                             // tasks of inputs that name an object that this node may not have
	read    map[phalanx.ObjectID]phalanx.Meta // objects of which this node has a copy: the attempt has read or made them
	made    []Ref                             // all objects of the attempt: those that nobody needs are deleted by the host
	tried   map[phalanx.ObjectID]bool         // these, and what was to be one: a call that failed may have taken effect
	value   any                               // the output before it was encoded
	leave   func(well bool)                   // ends the actors that nobody can use, once it is clear how it has ended; nil: it has used none
}

// maxInline is the largest output, in bytes, that goes with records. Larger ones become objects.
const maxInline = 64 << 10

// runner runs attempts on a node.
type runner struct {
	tasks *Registry
	store objects
	sums  reducer // nil: the runner combines no arrays
	stage stage   // nil: there are no actors
	log   logrus.FieldLogger
	grace time.Duration                 // after which a task that ignores the end of its context is reported
	tells func(a *attempt, cause error) // of such a task; nil: the log only
}

// attemptGrace is the default of runner.grace.
const attemptGrace = 10 * time.Second

// run runs an attempt and returns when it does not go on: a function that ignores the end of its context keeps run waiting.
// Beat is called with each progress, in order; it must not block.
func (r *runner) run(ctx context.Context, a *attempt, beat func([]byte)) ended {
	switch a.call.Kind {
	case messages.CallReduce:
		return r.reduce(ctx, a)
	case messages.CallKeep:
		return r.keep(ctx, a)
	}
	t, err := r.tasks.find(a.call.Name, a.call.Version)
	if err != nil {
		return ended{err: err}
	}
	f, err := r.function(t, a)
	if err != nil {
		return ended{err: err, final: true}
	}
	r.tasks.tell(r.log, t)
	ctx, stop := limited(ctx, a.call.Timeout)
	defer stop()
	life := newLife(a, r.store, beat)
	life.stage = r.stage
	e := r.perform(ctx, t, f, a, life)
	e.leave = life.leave
	life.tell(&e)
	return e
}

// perform reads the inputs, calls a function of a task, and makes the output.
func (r *runner) perform(ctx context.Context, t *Task, f func(c Context, in []any, out any) (any, error), a *attempt, life *life) ended {
	in, out, err := r.inputs(ctx, t, a, life)
	life.release() // the values are copies
	if err != nil {
		if ctx.Err() != nil {
			err = reason(ctx)
		}
		return ended{err: err, final: errors.Is(err, phalanx.ErrInvalid)}
	}
	if ctx.Err() != nil { // it was cancelled before it began: it has no effect
		return ended{err: reason(ctx)}
	}
	value, err := r.attend(ctx, a, life, func(c Context) (any, error) { return f(c, in, out) })
	e := ended{value: value}
	if err != nil {
		e.err, e.final = r.failed(t, err), IsPermanent(err)
		return e
	}
	if a.kind == core.Do || a.kind == core.Remake {
		r.encode(ctx, t, a, life, &e)
		if e.err != nil && !e.final && ctx.Err() != nil {
			e.err = reason(ctx)
		}
	}
	if e.err != nil {
		e.err, e.final = r.failed(t, e.err), e.final || IsPermanent(e.err)
	}
	return e
}

// limited returns a context that ends after the Timeout of an attempt, if there is one: inputs that do not come and an
// output that nobody takes count as well.
func limited(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, timeout,
		&phalanx.Error{Op: "run", Kind: phalanx.ErrDeadline, Err: fmt.Errorf("the attempt took longer than its Timeout of %v", timeout)})
}

func (r *runner) failed(t *Task, err error) error { return fmt.Errorf("task %s: %w", t.Name(), err) }

// function returns what an attempt of a kind calls.
func (r *runner) function(t *Task, a *attempt) (func(c Context, in []any, out any) (any, error), error) {
	lacks := func(what, fix string) error {
		return invalid("run "+t.Name(), fmt.Errorf("the registered task has no %s, and the run needs it: %s", what, fix))
	}
	switch {
	case len(a.args) != len(t.reads):
		return nil, invalid("run "+t.Name(), fmt.Errorf("the run gives the task %d arguments, and its function has %d: raise the version of a task whose arguments change", len(a.args), len(t.reads)))
	case a.call.Expands != t.expands:
		return nil, invalid("run "+t.Name(), errors.New("either the registered task or the one of the run returns a workflow: raise the version of a task that changes so"))
	case a.kind == core.TakeBack && t.undo == nil:
		return nil, lacks("Undo", "register it with Undo")
	case a.kind == core.TakeBack:
		return func(c Context, in []any, _ any) (any, error) { return nil, t.undo(c, in) }, nil
	case a.kind == core.MakeUp && (t.compensate == nil || a.output == nil):
		return nil, lacks("compensation, or no output to compensate", "register it with Compensate")
	case a.kind == core.MakeUp:
		return func(c Context, in []any, out any) (any, error) { return nil, t.compensate(c, in, out) }, nil
	}
	return func(c Context, in []any, _ any) (any, error) { return t.call(c, in) }, nil
}

// inputs returns the arguments of the function, and the task's output if that is given.
func (r *runner) inputs(ctx context.Context, t *Task, a *attempt, life *life) (in []any, out any, err error) {
	for i, s := range a.args {
		arg, err := r.fetch(ctx, s, life)
		if err != nil {
			return nil, nil, r.failed(t, fmt.Errorf("argument %d: %w", i, err))
		}
		v, err := read(t.reads[i], arg, life.finds())
		if err != nil {
			return nil, nil, invalid("run "+t.Name(), fmt.Errorf("argument %d is no %v: %w", i, t.reads[i].typ, err))
		}
		in = append(in, v)
	}
	if a.output == nil {
		return in, nil, nil
	}
	arg, err := r.fetch(ctx, supply{given: *a.output}, life)
	if err != nil {
		return nil, nil, r.failed(t, fmt.Errorf("its output: %w", err))
	}
	if out, err = read(reader{typ: t.makes.typ, whole: t.makes}, arg, life.finds()); err != nil {
		return nil, nil, invalid("run "+t.Name(), fmt.Errorf("its output is no %v: %w", t.makes.typ, err))
	}
	return in, out, nil
}

// read calls the reader, which calls methods of the application's types.
func read(r reader, a argument, visit found) (v any, err error) {
	err = guarded(func() (err error) {
		v, err = r.read(a, visit)
		return err
	})
	return v, err
}

// fetch gets the bytes of an argument, which are valid until life releases its views.
func (r *runner) fetch(ctx context.Context, s supply, life *life) (argument, error) {
	switch {
	case s.isList:
		list := argument{isList: true, list: make([]argument, len(s.list))}
		for i, item := range s.list {
			var err error
			if list.list[i], err = r.fetch(ctx, item, life); err != nil {
				return argument{}, err
			}
		}
		return list, nil
	case s.given.failed != "":
		return argument{failed: errors.New(s.given.failed)}, nil
	case s.given.object.IsZero():
		return argument{bytes: s.given.bytes, of: &origin{from: s.given.from, reads: s.given.reads}}, nil
	}
	v, err := life.get(ctx, s.given.object)
	if err != nil {
		return argument{}, err
	}
	of := &origin{from: s.given.from, reads: s.given.reads}
	if !s.given.bundle {
		return argument{bytes: v.Bytes(), of: of}, nil
	}
	b, refs, err := messages.UnmarshalBundle(v.Bytes())
	if err != nil {
		return argument{}, err
	}
	life.named(*s.given.from, refs)
	of.refs = refs
	return argument{bytes: b, of: of}, nil
}

// returned is what a function has returned, or how it has ended else.
type returned struct {
	value any
	err   error
}

var errGoexit = errors.New("the task has called runtime.Goexit, or a test's FailNow")

// guarded calls a function of the application, and makes an error of a panic: it would end the node, and then each node
// on which the attempt is repeated.
func guarded(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = panicError(v, debug.Stack())
		}
	}()
	return f()
}

// attend calls a function and waits until it has returned. It ends the function's context when the time is over, when the
// task is silent for too long, or when ctx ends; then that is the error, whatever the function returns.
func (r *runner) attend(ctx context.Context, a *attempt, life *life, f func(c Context) (any, error)) (any, error) {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	life.inner = inner
	c := &attemptContext{Context: inner, life: life}
	done := make(chan returned, 1)
	go func() {
		out := returned{err: errGoexit}
		defer func() { done <- out }()
		var v any
		err := guarded(func() (err error) {
			v, err = f(c)
			return sound(err)
		})
		out = returned{v, err}
	}()
	out := r.await(inner, cancel, a, life, done)
	unanswered := life.end()
	cancel(&phalanx.Error{Op: "run", Kind: phalanx.ErrClosed, Err: ErrEnded})
	life.calls.Wait()
	if out.err == nil && unanswered != "" {
		out.err = invalid("run", fmt.Errorf("%w: %s", ErrOutstanding, unanswered))
	}
	return out.value, out.err
}

// await waits until the function has returned.
func (r *runner) await(inner context.Context, cancel context.CancelCauseFunc, a *attempt, life *life, done <-chan returned) returned {
	var silence <-chan time.Time
	if a.call.Heartbeat > 0 && (a.kind == core.Do || a.kind == core.Remake) {
		timer := time.NewTimer(a.call.Heartbeat)
		defer timer.Stop()
		silence = timer.C
		life.onBeat(func() { timer.Reset(a.call.Heartbeat) })
	}
	over := inner.Done()
	var late <-chan time.Time
	for {
		select {
		case out := <-done:
			if inner.Err() != nil {
				return returned{err: reason(inner)}
			}
			return out
		case <-silence:
			cancel(&phalanx.Error{Op: "run", Kind: phalanx.ErrDeadline, Err: fmt.Errorf("%w of %v", ErrSilent, a.call.Heartbeat)})
			silence = nil
		case <-over:
			over = nil
			timer := time.NewTimer(r.grace)
			defer timer.Stop()
			late = timer.C
		case <-late:
			late = nil
			cause := reason(inner)
			r.log.WithField("task", a.call.String()).WithField("key", life.key).WithError(cause).
				Warnf("the task goes on %v after its context has ended: return when Done is closed", r.grace)
			if r.tells != nil {
				r.tells(a, cause)
			}
		}
	}
}

// reason says why a context has ended, as an error of a kind.
func reason(ctx context.Context) error {
	cause := context.Cause(ctx)
	var e *phalanx.Error
	if errors.As(cause, &e) {
		return cause
	}
	if errors.Is(cause, context.DeadlineExceeded) {
		return &phalanx.Error{Op: "run", Kind: phalanx.ErrDeadline, Err: cause}
	}
	return &phalanx.Error{Op: "run", Kind: phalanx.ErrCanceled, Err: cause}
}

// encode makes the output of an attempt of the value that the function has returned.
func (r *runner) encode(ctx context.Context, t *Task, a *attempt, life *life, e *ended) {
	if e.err, e.final = r.settle(ctx, t, a, life, e.value); e.err != nil {
		return
	}
	b, refs, err := r.encoded(t, e.value)
	if err != nil {
		e.err, e.final = err, true
		return
	}
	for _, ref := range refs {
		if !life.knows(ref) {
			e.err, e.final = invalid("run", fmt.Errorf("%w: %q", ErrStrangeRef, ref.id)), true
			return
		}
	}
	refs = append(refs, life.snapshots()...)
	e.refs = refs
	e.expands = t.expands
	e.output = core.Output{Size: int64(len(b)), Digest: dataplane.DigestBytes(b)}
	if t.expands && len(b) > core.MaxReturned {
		e.err, e.final = invalid("run", fmt.Errorf("%w: it has %d bytes, more than %d", ErrTooLarge, len(b), core.MaxReturned)), true
		return
	}
	if len(refs) > 0 && !t.expands {
		r.bundle(ctx, b, refs, life, e)
		return
	}
	if len(b) <= maxInline || t.expands {
		e.output.Recorded, e.output.Bytes = true, append([]byte(nil), b...)
		return
	}
	var meta phalanx.Meta
	if t.makes.dtype != phalanx.Bytes {
		meta = phalanx.Meta{DType: t.makes.dtype, Shape: []int64{int64(len(b)) / t.makes.dtype.Size()}}
	}
	ref, err := life.put(ctx, flow.OutputName, b, meta)
	if err != nil {
		e.err = err
		return
	}
	e.object, e.output.Digest = ref, ref.digest
}

// encoded is bytes, which calls methods of the application's types.
func (r *runner) encoded(t *Task, value any) (b []byte, refs []Ref, err error) {
	err = guarded(func() (err error) {
		b, refs, err = r.bytes(t, value)
		return err
	})
	if err != nil {
		return nil, nil, invalid("run", fmt.Errorf("its output cannot go on: %w", err))
	}
	return b, refs, nil
}

// bytes encodes an output, or the workflow that a task returns, and returns the Refs in it.
func (r *runner) bytes(t *Task, value any) (b []byte, refs []Ref, err error) {
	if !t.expands {
		if b, err = t.makes.encode(value); err != nil {
			return nil, nil, err
		}
		err = t.makes.finds.find(value, func(ref Ref) error {
			if !ref.IsZero() {
				refs = append(refs, ref)
			}
			return nil
		})
		return b, refs, err
	}
	p := programOf(r.tasks)
	p.parent = t.promise
	if err = p.record(value.(AnyStep).node(), core.MaxTasks); err != nil {
		return nil, nil, err
	}
	b, err = messages.MarshalGraph(&p.graph)
	return b, slices.SortedFunc(maps.Keys(p.refs), func(x, y Ref) int { return strings.Compare(string(x.id), string(y.id)) }), err
}
