package workflow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

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

// looksAtOnce is how many objects an attempt asks the directory for at once.
const looksAtOnce = 16

// list returns what Refs name, each once, in order. All of it is there then: an attempt that passed on what is lost would end well, and
// so would each repeat of it.
func (l *life) list(ctx context.Context, refs []Ref) ([]flow.Ref, error) {
	refs = distinctRefs(refs)
	all := make([]flow.Ref, len(refs))
	errs := make([]error, len(refs))
	var wait sync.WaitGroup
	slots := make(chan struct{}, looksAtOnce)
	for i, r := range refs {
		all[i] = flow.Ref{Object: r.id, Digest: r.digest}
		var here bool
		if all[i].Meta, here = l.here(r.id); here {
			continue
		}
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			all[i].Meta, errs[i] = l.look(ctx, r.id)
			all[i].Meta.Size = r.size // one that is still written may not have told
		})
	}
	wait.Wait()
	return all, errors.Join(errs...)
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
func (l *life) look(ctx context.Context, id phalanx.ObjectID) (m phalanx.Meta, err error) {
	err = l.orAgain(ctx, id, func() (err error) {
		m, err = l.store.Look(ctx, id)
		return err
	})
	return m, err
}

// orAgain reads an object. If it is gone it has it put again of the checkpoint of an input that names it, and reads it then.
func (l *life) orAgain(ctx context.Context, id phalanx.ObjectID, read func() error) error {
	err := read()
	if err == nil || !gone(err) {
		l.refused(err)
		return err
	}
	l.mu.Lock()
	namings := l.sources.Namings(id)
	l.mu.Unlock()
	var lost []core.Blob
	why := err
	for _, n := range namings {
		if len(n.Wish.Disks) == 0 || l.a.again == nil {
			continue
		}
		isLost, err := l.a.again(ctx, n.Wish)
		if err == nil {
			if err = read(); err == nil || !gone(err) {
				return err
			}
		}
		if isLost {
			lost = append(lost, n.Blob)
		}
		why = errors.Join(why, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.lacks[id] { // a task may ask again and again
		l.lacks[id] = true
		l.missing = append(l.missing, id)
	}
	for _, n := range namings {
		l.torn = append(l.torn, n.Blob)
	}
	l.unsaved = append(l.unsaved, lost...)
	return why
}

// named notes which objects an input names.
func (l *life) named(in core.Located, refs []flow.Ref) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sources.Add(in, refs)
	l.bundles = append(l.bundles, in.Task)
}

// tell says what the attempt has made, and what it lacked.
func (l *life) tell(e *ended) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.made, e.missing = append(l.made, e.made...), append(l.missing, e.missing...)
	e.closed = e.closed || l.closed
	e.torn, e.unsaved = distinct(l.torn), distinct(l.unsaved)
	for _, task := range l.bundles {
		if !l.sources.Whole(task, func(id phalanx.ObjectID) bool { _, here := l.metas[id]; return here }) {
			e.partly = append(e.partly, task)
		}
	}
}

func distinct(all []core.Blob) (each []core.Blob) {
	for _, b := range all {
		if !slices.Contains(each, b) {
			each = append(each, b)
		}
	}
	return each
}
