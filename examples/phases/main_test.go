package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/internal/leaks"
)

func TestMain(m *testing.M) { leaks.VerifyTestMain(m) }

// The last receiver comes after 13 s, later than managers remember a barrier by default.
func TestRun(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var out strings.Builder
	r, err := run(ctx, &out, options{nodes: 3, receivers: 20, late: 2, spread: 600 * time.Millisecond, size: 1 << 20, seed: 7})
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if !strings.Contains(out.String(), "the sender begins") || !strings.Contains(out.String(), "told to leave") || strings.Count(out.String(), " is late") != 2 {
		t.Error(out.String())
	}
	// At least 60 % are awaited, and whoever is late does not go on.
	if r.Ready < 12 || r.Got != r.Ready || r.Got+r.Left != 20 {
		t.Errorf("of 20 %d were ready, %d have the object, %d left", r.Ready, r.Got, r.Left)
	}
}
