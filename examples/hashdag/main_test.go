package main

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	child()
	os.Exit(m.Run())
}

// Processes are killed, and the run ends as if none had been: run checks the hash and the effects.
func TestRun(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	var out strings.Builder
	r, err := run(ctx, &out, options{tasks: 12, workers: 5, every: 4, seed: 2, dir: t.TempDir()})
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if r.Kills == 0 || r.Attempts < r.Tasks+r.Kills/2 || !strings.Contains(out.String(), "is dead (signal: killed)") {
		t.Errorf("%+v\n%s", r, out.String())
	}
}

func TestRunErrors(t *testing.T) {
	for _, o := range []options{{workers: 5}, {tasks: 1, workers: 2}, {tasks: 1, workers: 5, every: 1}} {
		if _, err := run(context.Background(), io.Discard, o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}
