package workflow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/messages"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// bundle makes the object of an output with Refs: it lists what they name, so that the checkpoint has it as well (workflow
// specification 1.3).
func (r *runner) bundle(ctx context.Context, b []byte, refs []Ref, life *life, e *ended) {
	if len(refs) > flow.MostRefs {
		e.err, e.final = invalid("run", fmt.Errorf("%w: its output has %d Refs, more than %d", ErrTooLarge, len(refs), flow.MostRefs)), true
		return
	}
	all, err := life.list(ctx, refs)
	if err != nil {
		e.err = err
		return
	}
	form, err := messages.MarshalBundle(b, all)
	if err != nil {
		e.err, e.final = err, true
		return
	}
	ref, err := life.put(ctx, flow.OutputName, form, phalanx.Meta{})
	if err != nil {
		e.err = err
		return
	}
	e.object = ref
	e.output = core.Output{Size: ref.size, Digest: ref.digest, Refs: uint32(len(all))}
	for _, r := range all {
		e.output.Weight += r.Meta.Size
	}
}

// looksAtOnce is how many objects are asked of the directory for at once.
const looksAtOnce = 16

// errNotAll ends the looks at objects once one of them has failed.
var errNotAll = errors.New("another object could not be had")

// each does something for each of k objects, several at once, until it fails for one, and returns why: of 100,000 that are lost
// each may take minutes.
func each(ctx context.Context, k int, do func(ctx context.Context, i int) error) (err error) {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var once sync.Once
	var wait sync.WaitGroup
	slots := make(chan struct{}, looksAtOnce)
	for i := range k {
		slots <- struct{}{} // do ends soon once its context has
		if inner.Err() != nil {
			break
		}
		wait.Go(func() {
			defer func() { <-slots }()
			if failed := do(inner, i); failed != nil {
				once.Do(func() { err = failed })
				cancel(errNotAll)
			}
		})
	}
	wait.Wait()
	if err == nil && ctx.Err() != nil {
		err = reason(ctx)
	}
	return err
}

// list returns what Refs name, each once, in order. All of it is there then: an attempt that passed on what is lost would end well, and
// so would each repeat of it.
func (l *life) list(ctx context.Context, refs []Ref) ([]flow.Ref, error) {
	refs = distinctRefs(refs)
	all := make([]flow.Ref, len(refs))
	var left []int
	for i, r := range refs {
		all[i] = flow.Ref{Object: r.id, Digest: r.digest}
		var here bool
		if all[i].Meta, here = l.here(r.id); !here {
			left = append(left, i)
		}
	}
	err := each(ctx, len(left), func(ctx context.Context, n int) (err error) {
		i := left[n]
		all[i].Meta, err = l.look(ctx, refs[i])
		return err
	})
	return all, err
}

// distinctRefs returns Refs in the order of their objects, each once.
func distinctRefs(refs []Ref) []Ref {
	return slices.Compact(slices.SortedFunc(slices.Values(refs), func(a, b Ref) int { return cmp.Compare(a.id, b.id) }))
}

// here reports whether the attempt has made or read an object, and what that holds.
func (l *life) here(id phalanx.ObjectID) (phalanx.Meta, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m, here := l.metas[id]
	return m, here
}

// look returns what an object holds that the attempt passes on without having read it. It has it put again if only checkpoints are left.
func (l *life) look(ctx context.Context, r Ref) (m phalanx.Meta, err error) {
	err = l.orAgain(ctx, r.id, func() (err error) {
		m, err = l.store.Look(ctx, r)
		return err
	})
	return m, err
}

// orAgain reads an object. If it is gone it has it put again of a checkpoint, if an input names it, and reads it then. A checkpoint of
// any output of the run will do: the input that names it may have none itself.
func (l *life) orAgain(ctx context.Context, id phalanx.ObjectID, read func() error) error {
	err := read()
	if err == nil || !gone(err) {
		l.refused(err)
		return err
	}
	l.mu.Lock()
	var n flow.Naming
	var named bool
	if l.sources != nil {
		n, named = l.sources.Naming(id)
	}
	l.mu.Unlock()
	if named && errors.Is(err, phalanx.ErrDeleted) { // its caller has deleted it, and no repeat of a task makes it again
		return err
	}
	var lost bool
	if named && l.a.again != nil {
		var failed error
		stop := l.beatMeanwhile()
		lost, failed = l.a.again(ctx, n.Wish)
		stop()
		if failed == nil {
			if failed = read(); failed == nil || !gone(failed) {
				return failed
			}
		}
		err = errors.Join(err, failed)
	}
	if errors.Is(context.Cause(ctx), errNotAll) { // nobody knows whether it could be had
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.lacks[id] { // a task may ask again and again
		l.lacks[id] = true
		l.missing = append(l.missing, id)
		note(&l.torn, n.In)
	}
	if lost {
		note(&l.unsaved, n.Saved)
	}
	return err
}

// note adds outputs to a set, which few attempts need.
func note(set *map[core.Blob]bool, all []core.Blob) {
	if *set == nil {
		*set = map[core.Blob]bool{}
	}
	for _, b := range all {
		(*set)[b] = true
	}
}

// beatMeanwhile has the task count as alive until stop: it waits for a disk that may be away, and is not silent.
func (l *life) beatMeanwhile() (stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.beats == nil {
		return func() {}
	}
	beats, done := l.beats, make(chan struct{})
	ticker := time.NewTicker(max(l.a.call.Heartbeat/4, time.Millisecond))
	go func() {
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				l.mu.Lock()
				beats()
				l.mu.Unlock()
			case <-done:
				return
			}
		}
	}()
	return func() {
		close(done)
		_ = l.beaten(nil) // nothing is sent
	}
}

// named notes which objects an input names.
func (l *life) named(in core.Located, refs []flow.Ref) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sources == nil {
		l.sources = flow.NewSources(l.a.uid)
	}
	l.sources.Add(in, refs)
}

// passed notes which objects a constant names.
func (l *life) passed(refs []flow.Ref) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sources == nil {
		l.sources = flow.NewSources(l.a.uid)
	}
	l.sources.Given(refs)
}

// tell says what the attempt has made, and what it lacked.
func (l *life) tell(e *ended) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.made, e.missing = append(l.made, e.made...), append(l.missing, e.missing...)
	e.tried = l.tried
	e.closed, e.read = e.closed || l.closed || l.actors.Bereft() && errors.Is(e.err, phalanx.ErrLost), l.metas
	note(&l.torn, l.actors.Torn())
	e.torn, e.unsaved = inOrder(l.torn), inOrder(l.unsaved)
	if l.sources != nil {
		e.partly = l.sources.Partly(func(id phalanx.ObjectID) bool { _, here := l.metas[id]; return here })
	}
}

func inOrder(all map[core.Blob]bool) []core.Blob {
	return slices.SortedFunc(maps.Keys(all), func(a, b core.Blob) int { return cmp.Compare(a.Task, b.Task) })
}
