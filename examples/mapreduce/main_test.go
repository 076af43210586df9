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
	r, err := run(ctx, &out, options{workers: 4, nodes: 3, maps: 32, reduces: 32, pace: 5 * time.Millisecond, slow: 1, slower: 16})
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, p := range r.Without {
		if p.Copies > 0 {
			t.Errorf("without the knee %s gives %d copies", p.Name, p.Copies)
		}
	}
	for _, p := range r.Knee {
		if p.Copies > 0 && 2*(p.DoneAtKnee+1) < p.Tasks { // the controller's own entry counts
			t.Errorf("%s gives copies with %d of %d tasks done, before half of them are", p.Name, p.DoneAtKnee, p.Tasks)
		}
	}
	if !strings.Contains(out.String(), "times faster") || strings.Count(out.String(), "32 tasks") != 4 {
		t.Error(out.String())
	}
}

func TestRunErrors(t *testing.T) {
	var out strings.Builder
	if _, err := run(context.Background(), &out, options{workers: 1, maps: 1, reduces: 1, slower: 1}); err == nil {
		t.Error("one worker")
	}
	if _, err := run(context.Background(), &out, options{workers: 2, maps: 2, reduces: 2, slower: 1, text: "there is none"}); err == nil {
		t.Error("no text")
	}
}
