package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/internal/leaks"
)

func TestMain(m *testing.M) { leaks.VerifyTestMain(m) }

func TestRun(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var out strings.Builder
	if err := run(ctx, &out, options{nodes: 3, receivers: 20, late: 2, spread: 100 * time.Millisecond, size: 1 << 20}); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if !strings.Contains(out.String(), "the sender begins") || !strings.Contains(out.String(), "told to leave") {
		t.Error(out.String())
	}
}
