package main

import (
	"context"
	"strings"
	"testing"
	"time"
)

// Every word is counted, with the knee and without it. How many tasks are given to
// another worker depends on how busy the machine is.
func TestRun(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var out strings.Builder
	if err := run(ctx, &out, options{workers: 4, maps: 32, reduces: 32, pace: 5 * time.Millisecond, slower: 16}); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if !strings.Contains(out.String(), "times faster") || strings.Count(out.String(), "32 tasks") != 4 {
		t.Error(out.String())
	}
}

func TestRunErrors(t *testing.T) {
	var out strings.Builder
	if err := run(context.Background(), &out, options{workers: 1, maps: 1, reduces: 1, slower: 1}); err == nil {
		t.Error("one worker")
	}
	if err := run(context.Background(), &out, options{workers: 2, maps: 2, reduces: 2, slower: 1, text: "there is none"}); err == nil {
		t.Error("no text")
	}
}
