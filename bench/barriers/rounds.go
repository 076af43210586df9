package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/cluster"
)

// passage is a sequence of barriers that all hosts enter, one straight after the other. Each is a
// barrier of the library, or a tree of them.
type passage struct {
	Hosts  int
	Degree int           // of the tree; 0: a central manager
	Rounds int           // barriers in a row
	Delay  time.Duration // one way between two hosts, on average
	Names  [][2]string   // of each host's barriers, which its node manages: gather and release
}

// The two barriers that a host has with its children in a tree. A central manager has the first.
const (
	gather = iota
	release
)

// times has when a host entered and passed each round, by the machine's clock.
type times struct {
	Host            int
	Entered, Passed []int64
}

func (p passage) tree() tree { return tree{p.Hosts, p.Degree} }

// run runs hosts, all on one node.
func (p passage) run(ctx context.Context, n *cluster.Node, hosts []int) ([]times, error) {
	all := make([]times, len(hosts))
	g, ctx := errgroup.WithContext(ctx)
	for i, h := range hosts {
		g.Go(func() error {
			all[i].Host = h
			for round := range p.Rounds {
				all[i].Entered = append(all[i].Entered, time.Now().UnixNano())
				passed, err := p.round(ctx, n, h, uint64(round))
				if err != nil {
					return fmt.Errorf("host %d, round %d: %w", h, round, err)
				}
				all[i].Passed = append(all[i].Passed, passed)
			}
			return nil
		})
	}
	return all, g.Wait()
}

func (p passage) round(ctx context.Context, n *cluster.Node, h int, round uint64) (passed int64, err error) {
	if p.Degree == 0 {
		return p.central(ctx, n, h, round)
	}
	return p.branch(ctx, n, h, round)
}

// central has a host enter the one barrier, with the delay of its way to host 0.
func (p passage) central(ctx context.Context, n *cluster.Node, h int, round uint64) (passed int64, err error) {
	if err := pause(ctx, way(h, 0, p.Delay)); err != nil {
		return 0, err
	}
	if err := p.enter(ctx, n, 0, gather, p.Hosts, h, round); err != nil {
		return 0, err
	}
	err = pause(ctx, way(0, h, p.Delay))
	return time.Now().UnixNano(), err
}

// branch has a host do its part in the tree. An inner host has two barriers with its children.
// The first, gather, fires when all children are there; then the host enters its parent's gather.
// The second, release, fires when the host enters it, after its parent's release has fired; the
// root enters it after gather.
func (p passage) branch(ctx context.Context, n *cluster.Node, h int, round uint64) (passed int64, err error) {
	t := p.tree()
	own, parent := t.children(h)+1, t.parent(h)
	if own > 1 {
		if err := p.enter(ctx, n, h, gather, own, h, round); err != nil {
			return 0, err
		}
	}
	if parent >= 0 {
		if err := pause(ctx, way(h, parent, p.Delay)); err != nil {
			return 0, err
		}
		both, entering := errgroup.WithContext(ctx)
		for _, which := range []int{gather, release} {
			both.Go(func() error { return p.enter(entering, n, parent, which, t.children(parent)+1, h, round) })
		}
		if err := both.Wait(); err != nil {
			return 0, err
		}
		if err := pause(ctx, way(parent, h, p.Delay)); err != nil {
			return 0, err
		}
	}
	passed = time.Now().UnixNano()
	if own > 1 {
		return passed, p.enter(ctx, n, h, release, own, h, round)
	}
	return passed, nil
}

// enter has host h enter a strict barrier that the node of another host manages.
func (p passage) enter(ctx context.Context, n *cluster.Node, manager, which, of, h int, round uint64) error {
	b, err := barrier.Open(n, p.Names[manager][which], barrier.Config{Max: of}, barrier.WithGeneration(round))
	if err == nil {
		_, err = b.Enter(ctx, barrier.Entry{Host: fmt.Sprint("host-", h)})
	}
	return err
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// two is the paper's measure of two barriers in a row, in milliseconds: from the first host's
// passage of the first round until the first passage of the second.
func two(all []times, round int) float64 {
	return float64(first(all, round+1)-first(all, round)) / 1e6
}

// spread is how much later than the first host the last one hears that a round's barrier has
// fired, in milliseconds.
func spread(all []times, round int) float64 {
	last := int64(0)
	for _, t := range all {
		last = max(last, t.Passed[round])
	}
	return float64(last-first(all, round)) / 1e6
}

func first(all []times, round int) int64 {
	f := all[0].Passed[round]
	for _, t := range all {
		f = min(f, t.Passed[round])
	}
	return f
}
