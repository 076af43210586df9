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
	if err := run(ctx, &out, options{nodes: 3, hosts: 60, fixed: []int{5, 60}, start: 4, download: 5 * time.Millisecond, capacity: 10}); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if !strings.Contains(out.String(), "adaptive") || strings.Count(out.String(), "at a time") != 2 {
		t.Error(out.String())
	}
}
