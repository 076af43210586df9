package nodes

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/children"
)

// Self is a node as its own process sees it.
type Self[R any] struct {
	*cluster.Node
	mu  sync.Mutex
	out *json.Encoder
}

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
	s := &Self[R]{Node: node, out: json.NewEncoder(os.Stdout)}
	s.write(line[R]{Control: node.ControlAddr(), Node: node.ID()})
	take := setup(ctx, s)
	for in := bufio.NewScanner(os.NewFile(3, "orders")); in.Scan(); {
		var o O
		if err := json.Unmarshal(in.Bytes(), &o); err != nil {
			return err
		}
		take(o)
	}
	return nil
}

// Report sends the outcome of an order.
func (s *Self[R]) Report(r R) { s.write(line[R]{Report: &r}) }

// Tell sends an event.
func (s *Self[R]) Tell(r R) { s.write(line[R]{Event: &r}) }

func (s *Self[R]) write(l line[R]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.out.Encode(l) // fails if the test is gone
}
