package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/history"
)

// sum is a source or the target of a reduce.
type sum struct {
	*object
	known chan struct{} // closed once options are known
	// options are the choices of puts that can be in it, with repeats. There is more
	// than one if a reduce was tried again: after another reduce used its target, that
	// can have been lost and made again of other sources.
	options [][]string
}

// reduce puts sources on random nodes, some before, some while they are combined; now
// and then the target is a source of another reduce that runs at the same time. Other
// nodes repeat failed puts and reduces, so that all must succeed, except a reduce whose
// source is such a target and was lost before it had it.
func (s *soak) reduce(ctx context.Context, rng *rand.Rand) {
	size := int64(8 * (1 + rng.IntN(6000)))
	if rng.IntN(3) == 0 {
		size = int64(8 * (16<<10 + rng.IntN(150<<10)))
	}
	inputs := s.sources(rng, size, 2+rng.IntN(6))
	var all sync.WaitGroup
	for _, in := range inputs {
		seed := rng.Uint64()
		all.Go(func() { s.provide(ctx, rand.New(rand.NewPCG(seed, 1)), in.object) })
	}
	depth := 1
	if rng.IntN(3) == 0 {
		depth = 2
	}
	sources := inputs
	var made []*sum
	for level := range depth {
		target := &sum{object: s.ledger.add(&object{id: s.name("sum"), size: size, array: true, reduced: true}), known: make(chan struct{})}
		made = append(made, target)
		num := len(sources)
		if level == 0 && rng.IntN(2) == 0 {
			num = 1 + rng.IntN(len(sources))
		}
		mine := rand.New(rand.NewPCG(rng.Uint64(), 2))
		from := slices.Clone(sources)
		all.Go(func() { s.combine(ctx, mine, target, from, num) })
		for range rng.IntN(3) { // readers, while it is made
			p := s.fleet.any(rng)
			if p == nil {
				break
			}
			way := order{Do: "get", Deadline: callDeadline}
			if rng.IntN(2) == 0 {
				way.Do = "open"
			}
			all.Go(func() { s.read(p, target.object, way) })
		}
		more := s.sources(rng, size, 1+rng.IntN(2))
		if level+1 < depth {
			for _, in := range more {
				seed := rng.Uint64()
				all.Go(func() { s.provide(ctx, rand.New(rand.NewPCG(seed, 3)), in.object) })
			}
			inputs = append(inputs, more...)
			sources = append([]*sum{target}, more...)
		}
	}
	all.Wait()
	for _, o := range append(inputs, made...) {
		if p := s.fleet.any(rng); p != nil {
			s.remove(p, o.object)
		}
	}
}

// sources returns n arrays for others to put.
func (s *soak) sources(rng *rand.Rand, size int64, n int) []*sum {
	var all []*sum
	for range n {
		o := s.ledger.add(&object{id: s.name("source"), size: size, array: true, reduced: true})
		from := &sum{object: o, options: [][]string{{seed(o.id, 0)}}, known: make(chan struct{})}
		close(from.known)
		all = append(all, from)
	}
	return all
}

// tries bounds how often the driver repeats an order on another node after a fault hit
// the first.
const tries = 12

// provide puts an object, whichever nodes die.
func (s *soak) provide(ctx context.Context, rng *rand.Rand, o *object) {
	pause(ctx, milliseconds(rng, 300))
	for range tries {
		p := s.fleet.any(rng)
		if p == nil || s.put(p, o, 0, order{Copies: 2, Unsized: rng.IntN(6) == 0}) || s.broken() {
			return
		}
		pause(s.ctx, milliseconds(rng, 500))
	}
	s.fail(fmt.Errorf("none of %d nodes could put %s", tries, o.id))
}

// combine makes the target, whichever nodes die, and checks which sources the answer
// names.
func (s *soak) combine(ctx context.Context, rng *rand.Rand, target *sum, sources []*sum, num int) {
	pause(ctx, milliseconds(rng, 300))
	ids := make([]phalanx.ObjectID, len(sources))
	for i, from := range sources {
		ids[i] = from.id
	}
	begin := s.clock()
	for attempt := range tries {
		p := s.fleet.any(rng)
		if p == nil {
			return
		}
		target.begun()
		res := s.call(p, target.object, order{Do: "reduce", Sources: ids, Num: num})
		s.ledger.ended(target.object, res.ok())
		if res.ok() {
			if err := s.combined(target, sources, num, begin, attempt > 0, res); err != nil {
				s.fail(err)
			}
			return
		}
		if s.broken() || s.lacks(ids) {
			return
		}
		pause(s.ctx, milliseconds(rng, 500))
	}
	s.fail(fmt.Errorf("none of %d nodes could reduce to %s", tries, target.id))
}

// combined checks the answer of a reduce. The history gets it as a put of the right sum
// that began with the first attempt.
func (s *soak) combined(target *sum, sources []*sum, num int, begin time.Duration, again bool, res result) error {
	seen := map[phalanx.ObjectID]bool{}
	for _, id := range slices.Concat(res.In, res.Out) {
		if seen[id] {
			return fmt.Errorf("%s: the answer names source %s twice, in %v, out %v", target.id, id, res.In, res.Out)
		}
		seen[id] = true
	}
	if len(res.In) != num || len(seen) != len(sources) {
		return fmt.Errorf("%s: the order was to combine %d of %d sources, the answer names %v in and %v out", target.id, num, len(sources), res.In, res.Out)
	}
	var in []*sum
	for _, from := range sources {
		if !seen[from.id] {
			return fmt.Errorf("%s: the answer does not name source %s, in %v, out %v", target.id, from.id, res.In, res.Out)
		}
		if slices.Contains(res.In, from.id) {
			in = append(in, from)
		}
	}
	choices := [][]*sum{in}
	if again && num < len(sources) {
		choices = subsets(sources, num)
	}
	for _, choice := range choices {
		options := [][]string{nil}
		for _, from := range choice {
			select {
			case <-from.known:
			case <-s.ctx.Done():
				return nil
			}
			options = product(options, from.options)
		}
		target.options = append(target.options, options...)
	}
	close(target.known)
	put := history.Op{Call: history.Put, Object: target.id, Node: res.process.name, Begin: begin, End: res.end, Size: target.size}
	for _, seeds := range target.options {
		right, err := summed(seeds, target.size)
		if err != nil {
			return err
		}
		put.Version = hash(right)
		target.sums = append(target.sums, put.Version)
	}
	if len(target.sums) == 1 {
		s.record.add(put)
	} else {
		target.mu.Lock()
		target.made = put
		target.mu.Unlock()
	}
	s.acked(target.object, anywhere, begin, 1, target.size < inlineBelow) // the copy is at the root of the tree, on some node
	return nil
}

// product returns each of a followed by each of b.
func product(a, b [][]string) [][]string {
	var all [][]string
	for _, x := range a {
		for _, y := range b {
			all = append(all, slices.Concat(x, y))
		}
	}
	return all
}

// subsets returns all choices of n of a.
func subsets(a []*sum, n int) [][]*sum {
	if n == 0 {
		return [][]*sum{nil}
	}
	var all [][]*sum
	for i := range len(a) - n + 1 {
		for _, rest := range subsets(a[i+1:], n-1) {
			all = append(all, append([]*sum{a[i]}, rest...))
		}
	}
	return all
}

// milliseconds returns a random time of less than n ms.
func milliseconds(rng *rand.Rand, n int) time.Duration {
	return time.Duration(rng.IntN(n)) * time.Millisecond
}
