package main

import (
	"context"
	"fmt"
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

// The check of the effects finds one that is missing, twice there, or of another input.
func TestCheck(t *testing.T) {
	o := outside{Dir: t.TempDir()}
	if err := os.Mkdir(o.effects(), 0o755); err != nil {
		t.Fatal(err)
	}
	says := func(want string, sums ...string) {
		t.Helper()
		if err := o.check(sums); fmt.Sprint(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for key, number := range map[string]int{"run/0": 0, "run/1": 1} {
		for range 2 { // an attempt again
			if err := o.effect(key, number, "sum"); err != nil {
				t.Fatal(err)
			}
		}
	}
	says("<nil>", "sum", "sum")
	says("task 2 has had no effect", "sum", "sum", "sum")
	says("task 1 has made sum, not other", "sum", "other")
	if err := o.effect("run/2", 1, "sum"); err != nil {
		t.Fatal(err)
	}
	says("task 1 has taken effect twice", "sum", "sum")
}
