package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/group"
	"github.com/phalanx-go/phalanx/internal/digits"
	"github.com/phalanx-go/phalanx/storenode"
)

// trainer is a worker's part in the training.
type trainer struct {
	task   task
	train  []digits.Sample
	g      *group.Group
	now    state
	before state // one step less, as somebody may not have made the last one
	say    func(report)
	sum    phalanx.ObjectID // of the last step, which somebody may still be getting

	mu   sync.Mutex
	new  []group.Member // that want to come in
	came chan struct{}  // closed with the first
}

// learn notes a newcomer.
func (t *trainer) learn(m group.Member) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.new = append(t.new, m)
	select {
	case <-t.came:
	default:
		close(t.came)
	}
}

// expect has the first of the workers wait for the newcomer, and so all others, who wait for
// its gradient: else the training could be over before the newcomer's process has started.
func (t *trainer) expect(ctx context.Context) error {
	if t.g.Rank() > 0 || t.now.step != t.task.GrowAt {
		return nil
	}
	select {
	case <-t.came:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("no other worker has come before step %d: %w", t.task.GrowAt, ctx.Err())
	}
}

func (t *trainer) newcomers() []group.Member {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.new
}

// run trains until all steps are made.
func (t *trainer) run(ctx context.Context) error {
	for t.now.step < t.task.Steps {
		if err := t.expect(ctx); err != nil {
			return err
		}
		grows, err := t.step(ctx)
		if err == nil && grows {
			err = t.grow(ctx)
		}
		switch {
		case errors.Is(err, phalanx.ErrFailed), errors.Is(err, phalanx.ErrRevoked):
			err = t.recover(ctx, err)
		case err == nil:
			t.say(report{Event: "step", Step: t.now.step, Rank: t.g.Rank(), Size: t.g.Size()})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *trainer) id(what any) phalanx.ObjectID {
	return phalanx.ObjectID(fmt.Sprintf("%s/%d/%v", t.g.Name(), t.now.step, what))
}

// step makes one step. The last element of the gradients says how many workers know of
// a newcomer.
func (t *trainer) step(ctx context.Context) (grows bool, err error) {
	batch := t.task.samples(t.train, t.now.step)
	n := t.task.model().NumParams()
	gradient := make([]float32, n+1)
	t.task.model().Gradient(t.now.params, digits.Split(batch, t.g.Size())[t.g.Rank()], gradient[:n])
	if len(t.newcomers()) > 0 {
		gradient[n] = 1
	}
	if _, err := t.g.Put(ctx, t.id(t.g.Rank()), cluster.BytesOf(gradient), cluster.WithArray(phalanx.Float32, int64(n+1))); err != nil {
		return false, err
	}
	var sources []phalanx.ObjectID
	for rank := range t.g.Size() {
		sources = append(sources, t.id(rank))
	}
	sum, _, err := t.g.AllReduce(ctx, storenode.Reduce{Target: t.id("sum"), Sources: sources, Op: phalanx.Sum})
	if err != nil {
		return false, err
	}
	defer sum.Release()
	a, err := cluster.ArrayOf[float32](sum)
	if err != nil {
		return false, err
	}
	grows = a.Values()[n] > 0
	next := t.now.next(a.Values()[:n], len(batch))
	err = t.forget(ctx)
	t.before, t.now = t.now, next
	return grows, err
}

// forget deletes what nobody needs once the sum of this step is there: the gradient,
// and the sum before it, which everybody has had.
func (t *trainer) forget(ctx context.Context) error {
	last := t.sum
	t.sum = t.id("sum")
	if err := t.g.Delete(ctx, t.id(t.g.Rank())); err != nil {
		return err
	}
	if last == "" || t.g.Rank() > 0 {
		return nil
	}
	return t.g.Delete(ctx, last)
}

// recover leaves what is under way, and goes on with those who are left from the last
// step that all have made.
func (t *trainer) recover(ctx context.Context, why error) error {
	t.say(report{Event: "out", Text: why.Error()})
	if errors.Is(why, phalanx.ErrFailed) { // the others may wait for something else
		if err := t.g.Revoke(ctx, "a worker failed"); err != nil {
			return err
		}
	}
	if by := t.g.Revocation(); by != nil && by.Rank == t.g.Rank() {
		t.say(report{Event: "revoked"})
	}
	last, err := t.g.Agree(ctx, int64(t.now.step), group.Min)
	if err != nil {
		return err
	}
	if int64(t.now.step) > last.Value {
		t.now = t.before
	}
	left, err := t.g.Shrink(ctx)
	if err != nil {
		return err
	}
	t.change(left)
	t.say(report{Event: "shrunk", Step: t.now.step, Size: left.Size(), Group: left.Name()})
	return nil
}

// grow has newcomers come in, and tells them where the training is.
func (t *trainer) grow(ctx context.Context) error {
	grown, err := t.g.Grow(ctx, t.newcomers()...)
	if err != nil {
		return err
	}
	t.mu.Lock()
	t.new = nil
	t.mu.Unlock()
	t.change(grown)
	if grown.Rank() == 0 {
		all := t.now.marshal()
		if _, err := grown.Put(ctx, stateOf(grown), cluster.BytesOf(all), cluster.WithArray(phalanx.Float32, int64(len(all)))); err != nil {
			return err
		}
	}
	t.say(report{Event: "grown", Step: t.now.step, Size: grown.Size(), Group: grown.Name()})
	return nil
}

func (t *trainer) change(to *group.Group) {
	_ = t.g.Close()
	t.g = to
}

func stateOf(g *group.Group) phalanx.ObjectID { return phalanx.ObjectID(g.Name() + "/state") }

// enter is how a newcomer begins: with the state of the others.
func (t *trainer) enter(ctx context.Context, node *cluster.Node) (err error) {
	if t.g, err = group.Await(ctx, node); err != nil {
		return err
	}
	v, err := t.g.Get(ctx, stateOf(t.g))
	if err != nil {
		return err
	}
	defer v.Release()
	a, err := cluster.ArrayOf[float32](v)
	if err != nil {
		return err
	}
	t.now, err = parseState(a.Values())
	t.before = t.now
	return err
}
