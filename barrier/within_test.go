package barrier

import (
	"context"
	"testing"
	"time"
)

// TestWithin checks that a context without a deadline gets one that lies behind the
// barrier's timeout, and that another keeps its own.
func TestWithin(t *testing.T) {
	cfg := Config{Max: 2, Timeout: time.Hour}
	ctx, cancel := within(context.Background(), cfg)
	defer cancel()
	if at, ok := ctx.Deadline(); !ok || time.Until(at) < cfg.Timeout {
		t.Errorf("deadline %v, %v", at, ok)
	}
	short, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	ctx, cancel = within(short, cfg)
	defer cancel()
	if at, _ := ctx.Deadline(); time.Until(at) > time.Minute {
		t.Errorf("deadline %v", at)
	}
}
