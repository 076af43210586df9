package training

import (
	"context"
	"errors"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/digits"
)

// Run trains from node, on the members that cfg names, and returns when all rounds
// are done, no worker is left and all objects are deleted. An error names the node
// or object that is at fault; the result has the rounds until then.
func Run(ctx context.Context, node *cluster.Node, cfg Config) (Result, error) {
	cfg, err := cfg.withDefaults(node)
	if err != nil {
		return Result{}, err
	}
	t, err := newTrainer(node, cfg)
	if err != nil {
		return Result{}, err
	}
	if err := t.hire(ctx); err != nil {
		return t.result, err
	}
	type outcome struct {
		Result
		error
	}
	over := make(chan outcome, 1)
	t.done = func(r Result, err error) { over <- outcome{r, err} }
	// A panic ends the training, since the workers have gone on meanwhile. The new
	// instance of the actor only clears up.
	pid, err := node.Spawn(actor.PropsFromProducer(func() actor.Actor { return t }), t.run.trainer())
	if err != nil {
		t.dismiss()
		return t.result, err
	}
	select {
	case o := <-over:
		return o.Result, o.error
	case <-ctx.Done():
		node.System().Root.Send(pid, abandon{fmt.Errorf("train: %w", context.Cause(ctx))})
		o := <-over // by the deadline
		return o.Result, o.error
	}
}

func newTrainer(node *cluster.Node, cfg Config) (*trainer, error) {
	train, test, err := digits.Load()
	if err != nil {
		return nil, err
	}
	t := &trainer{node: node, run: run(cfg.Name), cfg: cfg, model: digits.Model{Hidden: cfg.Hidden}, test: test}
	for _, p := range digits.Split(train, len(cfg.Workers)) {
		t.parts = append(t.parts, len(p))
	}
	t.params = t.model.Init(cfg.Seed)
	t.adam = digits.NewAdam(len(t.params), digits.Rate)
	t.result = Result{Num: cfg.Num, Gradient: int64(4 * gradientLen(t.model))}
	return t, nil
}

func (t *trainer) plan() plan {
	return plan{Parts: len(t.cfg.Workers), Hidden: t.cfg.Hidden, Seed: t.cfg.Seed, Trainer: t.node.ControlAddr(),
		Patience: int64(2 * t.cfg.Deadline)} // the trainer, which knows more, gives up first
}

// hire puts the plan and starts the workers.
func (t *trainer) hire(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, t.cfg.Deadline)
	defer cancel()
	if _, err := t.node.Put(ctx, t.run.plan(), t.plan().marshal()); err != nil {
		return err
	}
	for part, on := range t.cfg.Workers {
		pid, err := t.node.SpawnOn(ctx, on, Kind, t.run.worker(part))
		if err != nil {
			t.dismiss()
			return errors.Join(fmt.Errorf("train: the worker on %s: %w", on, err), t.node.Delete(ctx, t.run.plan()))
		}
		t.workers = append(t.workers, &member{pid: pid, node: on})
	}
	return nil
}

func (t *trainer) dismiss() {
	for _, w := range t.workers {
		t.node.System().Root.Stop(w.pid)
	}
}
