package main

import (
	"context"
	"fmt"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/digits"
	"github.com/phalanx-go/phalanx/internal/training"
)

// demoAccuracy is the accuracy that the classifier has to reach in demoRounds rounds or more, if
// at least half of the gradients are added up. With less it may need longer, which is no mistake.
const (
	demoAccuracy = 0.90
	demoRounds   = 30
)

// enough reports whether the flags suffice for demoAccuracy.
func (c demoConfig) enough() bool { return c.rounds >= demoRounds && 2*c.num >= c.nodes }

// demoTraining trains on all nodes.
func (a *app) demoTraining(ctx context.Context, cfg demoConfig, c *demoCluster) (demoTraining, error) {
	ctx, cancel := context.WithTimeout(ctx, demoPatience)
	defer cancel()
	workers := len(c.others) + 1
	a.say("training", "%d handwritten digits in %d parts; a gradient has %s; each round adds up the first %d of %d",
		digits.Train, workers, formatSize(int64(4*(digits.Model{Hidden: digits.Wide}).NumParams())), cfg.num, workers)
	bar := a.count("training", cfg.rounds)
	defer bar.end()
	res, err := training.Run(ctx, c.node, training.Config{Num: cfg.num, Rounds: cfg.rounds, Seed: 1, OnReduce: c.killer.inReduce, OnRound: func(r training.Round) {
		bar.set(r.Number)
		if r.Number%max(1, cfg.rounds/6) == 0 || r.Number == 1 {
			bar.hide()
			a.say("", "round %3d: loss %.3f, test accuracy %.3f, gradients of %v in %.0f ms", r.Number, r.Loss, r.Accuracy, r.In, 1000*r.Took.Seconds())
		}
	}})
	out := demoTraining{Rounds: res.Rounds, Num: res.Num, Accuracy: res.Accuracy, Verified: err == nil && res.Verified == res.Rounds}
	if out.Num == 0 {
		out.Num = cfg.num
	}
	if err == nil {
		err = c.killer.done()
	}
	if err != nil {
		return out, err
	}
	bar.end()
	a.say("training", "test accuracy %.3f on %d other digits after %d rounds; %d of %d sums equal a recomputation from the same gradients",
		res.Accuracy, digits.Test, res.Rounds, res.Verified, res.Rounds)
	switch {
	case res.Accuracy >= demoAccuracy:
	case cfg.enough():
		return out, &phalanx.Error{Op: "demo", Kind: phalanx.ErrInternal, Err: fmt.Errorf("a test accuracy of %.3f after %d rounds is less than %.2f", res.Accuracy, res.Rounds, demoAccuracy)}
	default:
		a.say("", "an accuracy of %.2f takes %d rounds, with half of the gradients or more in each", demoAccuracy, demoRounds)
	}
	return out, nil
}
