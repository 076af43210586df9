package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if as := os.Getenv(workerVar); as != "" {
		if err := beWorker(as); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A worker process is killed, the others go on, another one comes, and all end with
// the same weights: run checks that.
func TestRun(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var out strings.Builder
	if err := run(ctx, &out, options{workers: 4, hidden: 100, steps: 30, batch: 360, killAt: 10, growAt: 20, seed: 1}); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, s := range []string{"is killed", "has revoked the group", "a group of 3", "grown to 4", "the same weights after 30 steps"} {
		if !strings.Contains(out.String(), s) {
			t.Errorf("%q is missing in\n%s", s, out.String())
		}
	}
}

func TestRunErrors(t *testing.T) {
	var out strings.Builder
	if err := run(context.Background(), &out, options{workers: 2, steps: 90, batch: 100}); err == nil {
		t.Error("two workers")
	}
}

// A state comes back as it was.
func TestState(t *testing.T) {
	task := task{Hidden: 3, Steps: 2, Batch: 10, Seed: 1}
	s := task.begin()
	s = s.next(make([]float32, len(s.params)), 10)
	got, err := parseState(s.marshal())
	if err != nil || got.step != 1 || got.digest() != s.digest() {
		t.Errorf("%+v, %v", got, err)
	}
	if steps, _, _ := got.adam.State(); steps != 1 {
		t.Errorf("%d steps", steps)
	}
	if _, err := parseState([]float32{1}); err == nil {
		t.Error("one element is a state")
	}
}
