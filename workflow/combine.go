package workflow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/view"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
	"github.com/phalanx-go/phalanx/storenode"
)

// reducer is what a reduce needs of a store.
type reducer interface {
	Reduce(ctx context.Context, r storenode.Reduce) (storenode.ReduceResult, error)
	Stat(ctx context.Context, id phalanx.ObjectID) (storenode.ObjectStat, error)
	View() view.View
}

const (
	reduceMost = 10 * time.Minute // for one attempt of a reduce without a Timeout
	lookEvery  = time.Second      // at its inputs, whether a node has them: the store waits until somebody puts a lost one again
	lookMost   = 30 * time.Second // between two looks while the view stays as it is
)

// reduce runs an attempt of a reduce: the store combines the inputs where they are.
func (r *runner) reduce(ctx context.Context, a *attempt) ended {
	if r.sums == nil || a.kind != core.Do && a.kind != core.Remake {
		return ended{err: invalid("run", fmt.Errorf("%s has nothing that could be taken back, or nobody combines arrays here", a.call)), final: true}
	}
	ctx, stop := limited(ctx, cmp.Or(a.call.Timeout, reduceMost))
	defer stop()
	life := newLife(a, r.store, nil)
	defer life.end()
	e := r.combine(ctx, a, life)
	if e.err != nil {
		switch late := errors.Is(e.err, phalanx.ErrDeadline); {
		case late && a.call.Timeout > 0: // the store says what it waits for
			e.err = fmt.Errorf("its Timeout of %v is over: %w", a.call.Timeout, e.err)
		case !late && ctx.Err() != nil:
			e.err = reason(ctx)
		}
		e.closed = errors.Is(e.err, phalanx.ErrClosed)
		e.err = fmt.Errorf("%s: %w", a.call, e.err)
		e.final = e.final || errors.Is(e.err, phalanx.ErrInvalid) || errors.Is(e.err, phalanx.ErrMismatch)
	}
	life.tell(&e)
	return e
}

// combine has the store combine the inputs. A small result goes with records, as any output.
func (r *runner) combine(ctx context.Context, a *attempt, life *life) (e ended) {
	sources, err := r.sources(ctx, a, life)
	if err != nil {
		return ended{err: err}
	}
	target := phalanx.ObjectID(life.prefix + flow.OutputName)
	life.tries(target)
	info, lost, err := r.unlessInputsAreLost(ctx, storenode.Reduce{Target: target, Sources: sources, Op: a.call.Op, Num: a.call.Num})
	if err != nil {
		return ended{err: err, missing: lost}
	}
	e.object = RefOf(info)
	e.made = []Ref{e.object}
	e.output = core.Output{Size: info.Meta.Size, Digest: info.Digest}
	if info.Meta.Size <= maxInline {
		v, err := life.get(ctx, e.object)
		if err != nil {
			return ended{err: err, made: e.made}
		}
		e.output.Recorded, e.output.Bytes = true, slices.Clone(v.Bytes())
	}
	return e
}

// sources returns the objects that are combined. What is no object of its own with the right element type becomes one: a
// small output, a constant, a list, an output that was put again of its checkpoint, the repeat of another input.
func (r *runner) sources(ctx context.Context, a *attempt, life *life) (all []phalanx.ObjectID, err error) {
	d := a.call.DType
	used := map[phalanx.ObjectID]bool{}
	for i, s := range a.args {
		if id := s.given.object.id; id != "" && !used[id] {
			st, err := r.sums.Stat(ctx, id)
			if err != nil && !gone(err) {
				return nil, fmt.Errorf("input %d: %w", i, err)
			}
			if err == nil && st.State == directory.Finished && st.Meta.DType == d && len(st.Meta.Shape) == 1 {
				used[id] = true
				all = append(all, id)
				continue
			}
		}
		arg, err := r.fetch(ctx, s, life) // it notes what is missing
		if err != nil {
			return nil, fmt.Errorf("input %d: %w", i, err)
		}
		b, err := elementsOf(arg, d)
		if err != nil {
			return nil, invalid("run", fmt.Errorf("input %d is no array of %v: %w", i, d, err))
		}
		ref, err := life.put(ctx, fmt.Sprint(inputName, i), b, phalanx.Meta{DType: d, Shape: []int64{int64(len(b)) / d.Size()}})
		life.release()
		if err != nil {
			return nil, fmt.Errorf("input %d: %w", i, err)
		}
		all = append(all, ref.id)
	}
	return all, nil
}

// elementsOf returns the bytes of an array with elements of a type.
func elementsOf(arg argument, d phalanx.DType) ([]byte, error) {
	if !arg.isList && arg.failed == nil {
		if int64(len(arg.bytes))%d.Size() != 0 {
			return nil, fmt.Errorf("%d bytes are no multiple of an element's %d", len(arg.bytes), d.Size())
		}
		return arg.bytes, nil
	}
	for _, c := range raws {
		if c.dtype != d && (d != phalanx.Uint8 || c.dtype != phalanx.Bytes) {
			continue
		}
		of, why := readerOf(c.typ)
		if why != "" {
			return nil, errors.New(why)
		}
		v, err := read(of, arg, found{}) // an array has no Refs
		if err != nil {
			return nil, err
		}
		return c.encode(v)
	}
	return nil, errors.New("no task makes such arrays")
}

// unlessInputsAreLost has the store combine arrays, and ends that once too few are left: it returns those that are lost.
func (r *runner) unlessInputsAreLost(ctx context.Context, o storenode.Reduce) (info storenode.Info, lost []phalanx.ObjectID, err error) {
	spare := 0
	if o.Num > 0 {
		spare = len(o.Sources) - o.Num
	}
	inner, cancel := context.WithCancelCause(ctx)
	looked := make(chan []phalanx.ObjectID, 1)
	go func() {
		all := r.awaitLoss(inner, o.Sources, spare)
		if all != nil {
			cancel(&phalanx.Error{Op: "reduce", Object: all[0], Kind: phalanx.ErrLost, Err: errLost})
		}
		looked <- all
	}()
	res, err := r.sums.Reduce(inner, o)
	info = res.Info
	if errors.Is(err, phalanx.ErrExists) { // an attempt before has made it of other objects with the same bytes
		var st storenode.ObjectStat
		if st, err = r.sums.Stat(inner, o.Target); err == nil && st.State != directory.Finished {
			err = &phalanx.Error{Op: "reduce", Object: o.Target, Kind: phalanx.ErrExists, Err: errors.New("an attempt before makes it still")}
		}
		info = storenode.Info{Object: o.Target, Gen: st.Gen, Meta: st.Meta, Digest: st.Digest}
	}
	if err != nil && inner.Err() != nil && ctx.Err() == nil {
		err = reason(inner)
	}
	cancel(nil)
	if all := <-looked; err != nil {
		lost = all
	}
	return info, lost, err
}

// awaitLoss returns those of some objects that no node has any more, once there are more than spare; nil: the context has ended before. It
// looks ever more seldom until the view changes, since an object is lost as its last node leaves: many attempts with many
// inputs would keep the cluster busy otherwise.
func (r *runner) awaitLoss(ctx context.Context, all []phalanx.ObjectID, spare int) (lost []phalanx.ObjectID) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	seen, pause, next := r.sums.View().Number, lookEvery, time.Now().Add(lookEvery)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now := time.Now()
		if number := r.sums.View().Number; number != seen {
			seen, pause, next = number, lookEvery, now
		}
		if now.Before(next) {
			continue
		}
		next, pause = now.Add(pause), min(2*pause, lookMost)
		lost = nil
		for _, id := range all {
			st, err := r.sums.Stat(ctx, id)
			if err == nil && st.State == directory.Lost || gone(err) {
				lost = append(lost, id)
			}
		}
		if len(lost) > spare {
			return lost
		}
	}
}
