package workflow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/messages"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// incarnation is the executor of one incarnation of the node, with the attempts that it runs.
type incarnation struct {
	o      *open
	member *flow.Member
	runner *runner
	wait   sync.WaitGroup // for attempts and what is done for the disk
	ctx    context.Context
	stop   context.CancelCauseFunc

	attempts map[core.AttemptID]context.CancelCauseFunc
	has      *belongings
	cast     *cast         // of the actor of the service
	listed   chan struct{} // closed once it has all checkpoints that were on the disk
	writing  chan struct{} // slots for objects that outputs name and that are being written

	mu      sync.Mutex
	putting map[phalanx.ObjectID]bool // objects of checkpoints that are being put
	beats   map[core.AttemptID][]byte // progress of which the actor has a message, and not read it yet
}

// beaten says that an attempt has progress for the actor. There is one such message of an attempt, however often it beats.
type beaten struct {
	life *incarnation
	id   core.AttemptID
}

// beat brings progress to the actor.
func (l *incarnation) beat(id core.AttemptID, progress []byte) {
	l.mu.Lock()
	_, sent := l.beats[id]
	l.beats[id] = progress
	l.mu.Unlock()
	if !sent {
		l.o.node.System().Root.Send(l.o.pid, beaten{l, id})
	}
}

// latest returns the progress of an attempt that the actor has not read; nil: it has.
func (l *incarnation) latest(id core.AttemptID) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	progress := l.beats[id]
	delete(l.beats, id)
	return progress
}

func newIncarnation(o *open) *incarnation {
	r := &runner{tasks: o.settings.Tasks, store: nodeStore{o.node}, sums: o.node, log: o.settings.Log, grace: attemptGrace}
	offer := o.settings.offer(o.diskName())
	if offer.Again = o.has != nil; !offer.Again {
		o.has = newBelongings()
	}
	l := &incarnation{o: o, runner: r, member: flow.NewMember(offer), attempts: map[core.AttemptID]context.CancelCauseFunc{},
		has: o.has, putting: map[phalanx.ObjectID]bool{}, beats: map[core.AttemptID][]byte{}, listed: make(chan struct{}), writing: make(chan struct{}, writesAtOnce)}
	l.ctx, l.stop = context.WithCancelCause(context.Background())
	l.cast = newCast(o.self)
	r.stage = nodeStage{l}
	l.deleteLeft()
	l.wait.Go(l.findBlobs) // of 100,000 it takes a second
	return l
}

// runs reports whether attempts go on.
func (l *incarnation) runs() bool { return l != nil && len(l.attempts) > 0 }

// end cancels all that goes on.
func (l *incarnation) end() {
	l.stop(&phalanx.Error{Op: "run", Kind: phalanx.ErrClosed, Err: errors.New("the node has left the cluster, or was removed")})
}

// await waits until nothing goes on, but no longer than a while.
func (l *incarnation) await(most time.Duration) {
	if !endsWithin(most, l.wait.Wait) {
		l.o.settings.Log.Warnf("tasks go on %v after the node has left: return when the context's Done is closed", most)
	}
}

// tell brings an event to the executor.
func (l *incarnation) tell(ev core.ExecutorEvent) {
	l.o.node.System().Root.Send(l.o.pid, happened{l, ev})
}

// begin runs an attempt.
func (l *incarnation) begin(o core.Order) {
	ctx, cancel := context.WithCancelCause(l.ctx)
	l.attempts[o.ID] = cancel
	l.wait.Go(func() {
		ev := l.run(ctx, o)
		cancel(nil)
		l.tell(ev)
	})
}

func (l *incarnation) cancel(id core.AttemptID) {
	if cancel := l.attempts[id]; cancel != nil {
		cancel(&phalanx.Error{Op: "run", Kind: phalanx.ErrCanceled, Err: errors.New("the run does not need the attempt any more")})
	}
}

// ended forgets an attempt.
func (l *incarnation) ended(id core.AttemptID) {
	delete(l.attempts, id)
	l.latest(id) // nobody asks for it any more
}

// run runs an attempt and returns how it has ended.
func (l *incarnation) run(ctx context.Context, o core.Order) core.AttemptEnded {
	ev := core.AttemptEnded{ID: o.ID}
	a, err := attemptOf(o)
	if err != nil {
		ev.Failed, ev.Final = err.Error(), true
		return ev
	}
	job := o.Of.(*messages.Job)
	inputs := inputsOf(o)
	for id := range inputs {
		l.keep(a.run, id, false)
	}
	a.again, a.keeps = l.again(o.ID), func(id phalanx.ObjectID) { l.keep(a.run, id, false) }
	a.drops = l.dismiss
	unsaved, err := l.bring(ctx, o, a.again)
	if len(unsaved) > 0 { // it does not begin
		ev.Failed, ev.Missing, ev.Unsaved = err.Error(), unsaved, unsaved
		return ev
	}
	if err != nil {
		l.o.settings.Log.Debugf("checkpoints of the inputs of %s: %v", a.call, err)
	}
	e := l.runner.run(ctx, a, func(progress []byte) { l.beat(o.ID, progress) })
	if e.err == nil && e.expands {
		ev.Work, e.output = &core.Work{Parts: core.CutForm(e.output.Bytes)}, core.Output{}
	}
	named := map[Ref]bool{e.object: true}
	for _, r := range e.refs {
		named[r] = true
	}
	for id := range e.tried { // a Free may have taken what was noted before
		l.keep(a.run, id, false)
	}
	for _, r := range e.made {
		l.keep(a.run, r.id, job.Result && named[r])
	}
	if e.err == nil && ev.Work == nil && job.Object && e.object.IsZero() && (o.Kind == core.Do || o.Kind == core.Remake) {
		id := flow.OutputID(core.Blob{Run: o.ID.Run, Task: o.ID.Task, Gen: o.Gen, Made: o.Made}, a.call.Deterministic)
		l.keep(a.run, id, job.Result)
		if _, err := l.runner.store.Put(ctx, id, e.output.Bytes, phalanx.Meta{}); err != nil {
			e.err, e.closed = fmt.Errorf("its output: %w", err), errors.Is(err, phalanx.ErrClosed)
		}
	}
	if e.leave != nil {
		e.leave(e.err == nil)
	}
	ev.Output, ev.Final = e.output, e.final
	if job.Result {
		ev.Output.Names = namesOf(a.run, e.refs)
	}
	if e.err != nil {
		ev.Failed, ev.Output, ev.Lost = e.err.Error(), core.Output{}, e.closed
		for _, id := range e.missing {
			if b, is := inputs[id]; is {
				ev.Missing = append(ev.Missing, b)
			}
		}
		ev.Missing, ev.Unsaved = append(ev.Missing, e.torn...), e.unsaved
		return ev
	}
	partly := map[int]bool{}
	for _, task := range e.partly {
		partly[task] = true
	}
	for id, b := range inputs { // this node has copies now, but for what a Reduce has combined elsewhere
		if _, read := e.read[id]; read && !partly[b.Task] {
			l.tell(core.Stored{Blob: b})
		}
	}
	return ev
}

// namesOf returns the ids of those Refs whose objects are the run's.
func namesOf(run string, refs []Ref) (all []string) {
	for _, r := range refs {
		if strings.HasPrefix(string(r.id), "wf/"+run+"/") {
			all = append(all, string(r.id))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// attemptOf returns the attempt that an order asks for.
func attemptOf(o core.Order) (*attempt, error) {
	job, is := o.Of.(*messages.Job)
	if !is {
		return nil, errors.New("the order has no job")
	}
	fence := o.ID.Attempt
	if o.Kind == core.TakeBack {
		fence = o.Fence
	}
	a := &attempt{run: o.ID.Run.String(), uid: o.ID.Run, path: strconv.Itoa(o.ID.Task), gen: o.Gen, kind: o.Kind, call: job.Call, made: o.Made, id: o.ID.Attempt, number: o.Attempts + 1, progress: o.Progress,
		fence: Fence{Generation: o.Generation, Term: fence.Epoch, Attempt: fence.Number}}
	a.call.Name, a.call.Version = o.Function.Name, o.Function.Version
	g := &messages.Graph{Constants: job.Constants, Tasks: []messages.GraphTask{{Inputs: job.Args}}}
	var err error
	a.args, err = supplies(g, 0, func(n int) (given, error) { return givenOf(o.ID.Run, o.Inputs[n]), nil })
	if o.Output != nil {
		out := givenOf(o.ID.Run, *o.Output)
		a.output = &out
	}
	return a, err
}

// inputsOf returns the inputs of an order that are objects.
func inputsOf(o core.Order) map[phalanx.ObjectID]core.Blob {
	var all map[phalanx.ObjectID]core.Blob
	add := func(l core.Located) {
		if g := givenOf(o.ID.Run, l); !g.object.IsZero() {
			if all == nil {
				all = map[phalanx.ObjectID]core.Blob{}
			}
			all[g.object.id] = flow.BlobOf(o.ID.Run, l)
		}
	}
	for _, l := range o.Inputs {
		add(l)
	}
	if o.Output != nil {
		add(*o.Output)
	}
	return all
}
