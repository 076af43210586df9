package training_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/digits"
	"github.com/phalanx-go/phalanx/internal/leaks"
	"github.com/phalanx-go/phalanx/internal/training"
)

func TestMain(m *testing.M) { leaks.VerifyTestMain(m) }

// start returns n nodes of one cluster, which leave when the test ends.
func start(t *testing.T, n int, kinds bool) []*cluster.Node {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	log := logrus.New()
	log.SetOutput(io.Discard)
	var nodes []*cluster.Node
	for i := range n {
		cfg := cluster.Config{Name: fmt.Sprint("n", i), Memory: 256 << 20, Logger: log}
		if kinds || i == 0 {
			cfg.Kinds = training.Kinds()
		}
		if i > 0 {
			cfg.Seeds = []string{nodes[0].ControlAddr()}
		}
		node, err := cluster.Join(ctx, cfg)
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, node)
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if err := node.Leave(ctx); err != nil {
				t.Errorf("%s does not leave: %v", node.ID(), err)
			}
		})
	}
	return nodes
}

func TestTrainingOnACluster(t *testing.T) {
	for _, c := range []struct {
		name   string
		num    int
		hidden int
		rounds int
	}{
		{"all gradients, small ones", 0, 40, 25},
		{"the first 2 of 3, by tree", 2, digits.Wide, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			nodes := start(t, 3, true)
			var rounds []training.Round
			res, err := training.Run(t.Context(), nodes[0], training.Config{Name: "t", Num: c.num, Hidden: c.hidden, Rounds: c.rounds, Seed: 1,
				OnRound: func(r training.Round) { rounds = append(rounds, r) }})
			if err != nil {
				t.Fatal(err)
			}
			num := c.num
			if num == 0 {
				num = 3
			}
			if res.Rounds != c.rounds || res.Verified != c.rounds || res.Num != num || len(rounds) != c.rounds {
				t.Errorf("%+v and %d reported rounds, want %d", res, len(rounds), c.rounds)
			}
			for i, r := range rounds {
				all := slices.Sorted(slices.Values(append(slices.Clone(r.In), r.Out...)))
				if r.Number != i+1 || len(r.In) != num || !slices.Equal(all, []int{0, 1, 2}) || r.Samples != num*digits.Train/3 {
					t.Errorf("round %d: %+v", i+1, r)
				}
			}
			if first, last := rounds[0], rounds[len(rounds)-1]; last.Loss >= first.Loss*0.9 || res.Accuracy < 0.4 {
				t.Errorf("the model has not learned: loss %.2f, then %.2f; accuracy %.2f", first.Loss, last.Loss, res.Accuracy)
			}
			left, err := nodes[1].List(t.Context(), "t/")
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range left {
				if o.State.String() != "deleted" {
					t.Errorf("%s is still there: %v", o.Object, o.State)
				}
			}
		})
	}
}

func TestErrorsNameTheCulprit(t *testing.T) {
	nodes := start(t, 2, false)
	for _, c := range []struct {
		name string
		cfg  training.Config
		kind phalanx.Kind
		says string
	}{
		{"more than there are", training.Config{Num: 3}, phalanx.ErrInvalid, "3 of 2"},
		{"a node without the kind", training.Config{}, phalanx.ErrInvalid, string(nodes[1].ID())},
		{"a node that is none", training.Config{Workers: []phalanx.NodeID{"x#1"}}, phalanx.ErrInvalid, "x#1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := training.Run(t.Context(), nodes[0], c.cfg)
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v; want %v that says %q", err, c.kind, c.says)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	nodes := start(t, 2, true)
	ctx, cancel := context.WithCancel(t.Context())
	res, err := training.Run(ctx, nodes[0], training.Config{Hidden: 20, Rounds: 1 << 30, OnRound: func(r training.Round) {
		if r.Number == 3 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || res.Rounds < 3 {
		t.Errorf("after %d rounds: %v", res.Rounds, err)
	}
}

func TestAPanicEndsTheTraining(t *testing.T) {
	nodes := start(t, 2, true)
	_, err := training.Run(t.Context(), nodes[0], training.Config{Hidden: 20, OnRound: func(training.Round) { panic("no") }})
	if !errors.Is(err, phalanx.ErrInternal) {
		t.Errorf("%v", err)
	}
}
