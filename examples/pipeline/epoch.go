package main

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/group"
	"github.com/phalanx-go/phalanx/internal/digits"
	"github.com/phalanx-go/phalanx/storenode"
	"github.com/phalanx-go/phalanx/workflow"
)

// epoch is what a trainer is told of an epoch.
type epoch struct {
	Job     job
	Samples workflow.Ref
	Group   string // no other attempt has a group of this name
	Members []group.Member
	Rank    int    // of the trainer
	Process string // of the task
}

// train trains an epoch in a group of all trainers. Each computes the gradient on its part of the samples, and all make the same
// steps with the sum. When one dies the others make the step by themselves.
func (t *trainer) train(c workflow.ActorContext, e epoch, o outside) error {
	samples, err := samplesOf(c.Get(e.Samples))
	if err != nil {
		return err
	}
	g, err := group.Form(c, c.Node(), e.Group, e.Members, group.AtRank(e.Rank))
	if err != nil {
		return err
	}
	defer func() { _ = g.Close() }()
	for to := t.steps() + e.Job.Rounds; t.steps() < to; {
		if self := c.Node().ID().Name(); e.Job.Fault.inEpoch() && t.steps() == to-e.Job.Rounds/2 && self != e.Process {
			if err := o.fail(c, e.Job, self); err != nil {
				return err
			}
		}
		made, err := t.step(c, g, samples, e.Job.Hidden)
		if err != nil {
			return err
		}
		if !made {
			left, err := g.Shrink(c)
			if err != nil {
				return err
			}
			_ = g.Close()
			g = left
			if err := o.create(e.Job.Name+".shrunk", nil); err != nil { // the driver looks for it
				return err
			}
		}
	}
	if g.Rank() > 0 {
		return nil
	}
	return forget(c, c.Node(), objects(e.Job.Name))
}

// forget deletes what the trainers of a run have put, also those of attempts that were killed.
func forget(ctx context.Context, n *cluster.Node, objects string) error {
	all, err := n.List(ctx, objects)
	deletes, ctx := errgroup.WithContext(ctx)
	for _, o := range all {
		deletes.Go(func() error {
			err := n.Delete(ctx, o.Object)
			if errors.Is(err, phalanx.ErrDeleted) || errors.Is(err, phalanx.ErrNotFound) || errors.Is(err, phalanx.ErrLost) {
				return nil
			}
			return err
		})
	}
	return errors.Join(err, deletes.Wait())
}

// step makes a step if all members that are left have the sum of the gradients: they agree on that, so that they have the same model.
func (t *trainer) step(c workflow.ActorContext, g *group.Group, samples []digits.Sample, hidden int) (made bool, err error) {
	gradient := make([]float32, len(t.params))
	digits.Model{Hidden: hidden}.Gradient(t.params, digits.Split(samples, g.Size())[g.Rank()], gradient)
	has := int64(1)
	sum, err := t.sum(c, g, gradient)
	switch {
	case err == nil:
		defer sum.Release()
	case errors.Is(err, phalanx.ErrFailed), errors.Is(err, phalanx.ErrRevoked):
		has, err = 0, g.Revoke(c, "a trainer has died") // the others leave what they do, too
	}
	if err != nil {
		return false, err
	}
	agreed, err := g.Agree(c, has, group.Min)
	if err != nil || agreed.Value == 0 {
		return false, err
	}
	a, err := cluster.ArrayOf[float32](sum)
	if err != nil {
		return false, err
	}
	t.adam.Step(t.params, a.Values(), len(samples))
	return true, nil
}

// sum adds up the gradients of all members.
func (t *trainer) sum(c workflow.ActorContext, g *group.Group, gradient []float32) (*storenode.View, error) {
	id := func(what any) phalanx.ObjectID {
		return phalanx.ObjectID(fmt.Sprintf("%s/%d/%v", g.Name(), t.steps(), what))
	}
	if _, err := g.Put(c, id(g.Rank()), cluster.BytesOf(gradient), cluster.WithArray(phalanx.Float32, int64(len(gradient)))); err != nil {
		return nil, err
	}
	r := storenode.Reduce{Target: id("sum"), Op: phalanx.Sum}
	for rank := range g.Size() {
		r.Sources = append(r.Sources, id(rank))
	}
	v, _, err := g.AllReduce(c, r)
	return v, err
}
