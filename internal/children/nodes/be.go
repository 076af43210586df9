package nodes

import (
	"context"
	"encoding/json"
	"time"

	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/children"
)

// Self is a node as its own process sees it.
type Self[R any] struct{ *cluster.Node }

// Be runs a node until the test that launched it is gone; lifetime is the grace for its end.
// setup returns the function that takes orders, one after the other.
func Be[O, R any](value string, lifetime time.Duration, config func(name string) cluster.Config, setup func(context.Context, *Self[R]) func(O)) error {
	var at place
	if err := json.Unmarshal([]byte(value), &at); err != nil {
		return err
	}
	ctx, end := children.Lifetime(lifetime)
	defer end()
	cfg := config(at.Name)
	if at.Seed != "" {
		cfg.Seeds = []string{at.Seed}
	}
	node, err := cluster.Join(ctx, cfg)
	if err != nil {
		return err
	}
	s := &Self[R]{node}
	children.Say(line[R]{Control: node.ControlAddr(), Node: node.ID()})
	return children.Orders(setup(ctx, s))
}

// Report sends the outcome of an order.
func (s *Self[R]) Report(r R) { children.Say(line[R]{Report: &r}) }

// Tell sends an event.
func (s *Self[R]) Tell(r R) { children.Say(line[R]{Event: &r}) }
