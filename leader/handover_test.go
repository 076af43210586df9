package leader_test

import (
	"context"
	"sync"
	"testing"

	"github.com/phalanx-go/phalanx/barrier"
)

// When the next candidate leads, the context of the one before has ended.
func TestTheContextEndsBeforeTheNextOneLeads(t *testing.T) {
	nodes := start(t, 2)
	var mu sync.Mutex
	var last context.Context
	early := 0
	var all sync.WaitGroup
	for i := range 400 {
		e := open(t, nodes[i%2], "e")
		all.Go(func() {
			_ = e.Lead(within(t), "x", func(ctx context.Context, _ barrier.Fence) error {
				mu.Lock()
				defer mu.Unlock()
				if last != nil && last.Err() == nil && ctx.Err() == nil {
					early++
				}
				last = ctx
				return nil
			})
		})
	}
	all.Wait()
	if early > 0 {
		t.Errorf("%d contexts were alive when the next one led", early)
	}
}
