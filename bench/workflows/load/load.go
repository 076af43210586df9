// Package load is the load under which bench/workflows measures systems that run
// workflows: the same for all of them.
package load

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// System runs workflows and waits for them.
type System interface {
	// Chain starts a run of n tasks, of which each adds 1 to what the one before has returned, and
	// waits until it has ended.
	Chain(ctx context.Context, id string, n int) error
	// Pass starts a run of two tasks, of which the first makes size bytes and the second reads them, and
	// waits until it has ended.
	Pass(ctx context.Context, id string, size int) error
}

// Part is a measurement.
type Part struct {
	Name    string
	Text    string // what it measures, for people
	Unit    string
	Clients int // that wait for a run each, at the same time
	Tasks   int // of a run
	Bytes   int // that go from one task to the next; 0: a number
}

// Parts are all measurements of Measure.
var Parts = []Part{
	{Name: "start", Text: "start → result", Unit: "ms", Clients: 1, Tasks: 1},
	{Name: "chain", Text: "chain of 10", Unit: "ms a task", Clients: 1, Tasks: 10},
	{Name: "runs", Text: "256 clients, runs of 1 task", Unit: "runs/s", Clients: 256, Tasks: 1},
	{Name: "tasks", Text: "64 clients, chains of 100", Unit: "tasks/s", Clients: 64, Tasks: 100},
	{Name: "pass1", Text: "1 MB to the next task", Unit: "ms", Clients: 1, Tasks: 2, Bytes: 1 << 20},
	{Name: "pass100", Text: "100 MB to the next task", Unit: "ms", Clients: 1, Tasks: 2, Bytes: 100 << 20},
}

// Find returns the part of a name.
func Find(name string) (Part, error) {
	i := slices.IndexFunc(Parts, func(p Part) bool { return p.Name == name })
	if i < 0 {
		return Part{}, fmt.Errorf("there is no part %q", name)
	}
	return Parts[i], nil
}

// Samples are what Measure has seen.
type Samples struct {
	Took []float64 // milliseconds from a run's start to its result, in the order in which runs ended
	Over float64   // seconds that passed altogether
}

// warm is how many runs of a client come before those that count.
const warm = 3

// Measure starts runs for about as long as it is told, and waits for all of them.
func Measure(ctx context.Context, s System, p Part, lasts time.Duration) (Samples, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	run := func(id string) error {
		if p.Bytes > 0 {
			return s.Pass(ctx, id, p.Bytes)
		}
		return s.Chain(ctx, id, p.Tasks)
	}
	each := func(do func(client int)) {
		var all sync.WaitGroup
		for i := range p.Clients {
			all.Go(func() { do(i) })
		}
		all.Wait()
	}
	each(func(client int) {
		for i := range warm {
			if err := run(fmt.Sprintf("%s/warm/%d/%d", p.Name, client, i)); err != nil {
				cancel(err)
				return
			}
		}
	})
	var mu sync.Mutex
	var all Samples
	began := time.Now()
	each(func(client int) {
		for i := 0; ctx.Err() == nil && time.Since(began) < lasts; i++ {
			started := time.Now()
			if err := run(fmt.Sprintf("%s/%d/%d", p.Name, client, i)); err != nil {
				cancel(err)
				return
			}
			took := time.Since(started)
			mu.Lock()
			all.Took = append(all.Took, float64(took.Microseconds())/1000)
			mu.Unlock()
		}
	})
	all.Over = time.Since(began).Seconds()
	return all, context.Cause(ctx)
}

// Figure returns the number of a part: the median of a run in milliseconds, for each task if there are several that pass
// nothing, or how many runs or tasks ended in a second.
func (p Part) Figure(s Samples) float64 {
	switch {
	case p.Clients > 1:
		return float64(len(s.Took)*p.Tasks) / s.Over
	case p.Bytes > 0:
		return Quantile(s.Took, 0.5)
	}
	return Quantile(s.Took, 0.5) / float64(p.Tasks)
}

// Quantile returns the q-quantile of samples, of which there must be one.
func Quantile(samples []float64, q float64) float64 {
	s := slices.Sorted(slices.Values(samples))
	return s[int(q*float64(len(s)-1)+0.5)]
}
