package main

import (
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/group"
	"github.com/phalanx-go/phalanx/workflow"
)

// actors is how many train.
const actors = 8

// trainers are the kind of the actors that train, with its methods.
type trainers struct {
	workflow.ActorKind[*trainer, []float32]
	where    workflow.ActorMethod[int, phalanx.NodeID]
	state    workflow.ActorMethod[int, []float32]
	evaluate workflow.ActorMethod[int, made]
	train    workflow.ActorMethod[epoch, struct{}]
}

// trainers returns the kind. A trainer is made of the state of another one, and is saved as its state.
func (o outside) trainers() trainers {
	k := workflow.Actor("trainer", 1, func(_ workflow.ActorContext, state []float32) (*trainer, error) { return parseTrainer(state) }).
		Snapshots((*trainer).save, func(_ workflow.ActorContext, b []byte) (*trainer, error) { return loadTrainer(b) })
	return trainers{
		ActorKind: k,
		where:     workflow.Method(k, "where", func(_ *trainer, c workflow.ActorContext, _ int) (phalanx.NodeID, error) { return c.Node().ID(), nil }).ReadOnly(),
		state:     workflow.Method(k, "state", func(t *trainer, _ workflow.ActorContext, _ int) ([]float32, error) { return t.array(), nil }).ReadOnly(),
		evaluate:  workflow.Method(k, "evaluate", func(t *trainer, _ workflow.ActorContext, hidden int) (made, error) { return t.evaluate(hidden) }).ReadOnly(),
		train: workflow.Method(k, "train", func(t *trainer, c workflow.ActorContext, e epoch) (struct{}, error) {
			return struct{}{}, t.train(c, e, o)
		}),
	}
}

// begin makes the first trainers, all with the same model.
func (k trainers) begin(c workflow.Context, j job) ([]workflow.ActorRef, error) {
	return k.fill(c, nil, newTrainer(j.Hidden).array())
}

// fill makes as many trainers as are missing.
func (k trainers) fill(c workflow.Context, all []workflow.ActorRef, state []float32) ([]workflow.ActorRef, error) {
	for len(all) < actors {
		t, err := k.Spawn(c, fmt.Sprintf("trainer %d", len(all)+1), state)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// complete returns as many trainers as there are to be, and the nodes on which they live. New ones begin with the model of one that is left.
func (k trainers) complete(c workflow.Context, all []workflow.ActorRef) (left []workflow.ActorRef, nodes []phalanx.NodeID, err error) {
	if left, nodes, err = ask(c, k.where, all, same(0)); err != nil || len(left) == actors {
		return left, nodes, err
	}
	state, err := k.state.Call(c, left[0], 0)
	if err != nil {
		return nil, nil, err
	}
	if all, err = k.fill(c, left, state); err != nil {
		return nil, nil, err
	}
	return ask(c, k.where, all, same(0))
}

// epoch trains an epoch, and returns the trainers that are left.
func (k trainers) epoch(c workflow.Context, process string, j job, all []workflow.ActorRef, data []float32) ([]workflow.ActorRef, error) {
	samples, err := workflow.PutArray(c, "samples", data) // they are on this node, whichever other ones die
	if err != nil {
		return nil, err
	}
	all, nodes, err := k.complete(c, all)
	if err != nil {
		return nil, err
	}
	e := epoch{Job: j, Samples: samples, Group: fmt.Sprintf("%s%d/%v", objects(j.Name), j.Epoch, c.Fence()), Process: process}
	for rank, n := range nodes {
		e.Members = append(e.Members, group.Member{Node: n, Label: fmt.Sprint(rank)})
	}
	left, _, err := ask(c, k.train, all, func(rank int) epoch {
		e := e
		e.Rank = rank
		return e
	})
	return left, err
}

// result returns the model, which all trainers have.
func (k trainers) result(c workflow.Context, j job, all []workflow.ActorRef) (made, error) {
	_, models, err := ask(c, k.evaluate, all, same(j.Hidden))
	if err != nil {
		return made{}, err
	}
	for _, m := range models {
		if m != models[0] {
			return made{}, fmt.Errorf("trainers have different models: %+v and %+v", models[0], m)
		}
	}
	models[0].Trainers = len(models)
	return models[0], nil
}

// ask calls a method of all trainers at once. It returns those that are left, and what they answer; it fails if none is left.
func ask[A, R any](c workflow.Context, method workflow.ActorMethod[A, R], all []workflow.ActorRef, arg func(rank int) A) (left []workflow.ActorRef, answers []R, err error) {
	got, lost := make([]R, len(all)), make([]error, len(all))
	calls, ctx := errgroup.WithContext(c)
	for rank, t := range all {
		calls.Go(func() (err error) {
			if got[rank], err = method.Call(ctx, t, arg(rank)); errors.Is(err, phalanx.ErrLost) {
				lost[rank], err = err, nil
			}
			return err
		})
	}
	if err := calls.Wait(); err != nil {
		return nil, nil, err
	}
	for rank, t := range all {
		if lost[rank] == nil {
			left, answers = append(left, t), append(answers, got[rank])
		}
	}
	if len(left) == 0 {
		return nil, nil, errors.Join(lost...)
	}
	return left, answers, nil
}

// same is the argument of all.
func same(arg int) func(rank int) int { return func(int) int { return arg } }
