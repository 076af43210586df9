package barrier_test

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/protocol/barrier"
)

// TestPatience checks that a caller without a deadline waits for longer than the barrier
// does, which fires by then.
func TestPatience(t *testing.T) {
	for _, cfg := range []barrier.Config{{Max: 2}, {Max: 2, Timeout: time.Second}, {Max: 2, Timeout: time.Hour},
		{Semaphore: barrier.Semaphore{Count: 1, Timeout: 2 * time.Hour}}} {
		if p := cfg.Patience(); p <= cfg.Timeout || p <= cfg.Semaphore.Timeout || p > cfg.Timeout+cfg.Semaphore.Timeout+time.Minute {
			t.Errorf("%+v: %v", cfg, p)
		}
	}
}
