package memory_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/phalanx-go/phalanx/protocol/memory"
)

// TestScripts replays testdata/*; run with -rewrite, then read the diff.
//
// "queue" makes a queue. "ask", "gone", "taken", "freed" and "lasts" are its events,
// at=5 at the millisecond 5. "run until=700" ticks whenever the queue is due.
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			w := &world{}
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				w.out.Reset()
				w.run(t, d)
				fmt.Fprintln(&w.out, w.queue)
				return w.out.String()
			})
		})
	}
}

type world struct {
	queue *memory.Queue
	out   strings.Builder
}

func (w *world) run(t *testing.T, d *datadriven.TestData) {
	var at, bytes, until int64
	var id uint64
	kind := "waits"
	d.MaybeScanArgs(t, "at", &at)
	d.MaybeScanArgs(t, "bytes", &bytes)
	d.MaybeScanArgs(t, "id", &id)
	d.MaybeScanArgs(t, "until", &until)
	d.MaybeScanArgs(t, "kind", &kind)
	now := time.Duration(at) * time.Millisecond
	switch d.Cmd {
	case "queue":
		w.queue = memory.New(memory.Config{Cap: bytes})
	case "ask":
		patience := map[string]memory.Patience{"waits": memory.Waits, "bounded": memory.Bounded, "tries": memory.Tries, "takes": memory.Takes}[kind]
		w.step(now, memory.Ask{ID: id, Bytes: bytes, Patience: patience})
	case "gone":
		w.step(now, memory.Gone{ID: id})
	case "taken":
		w.step(now, memory.Taken{Bytes: bytes})
	case "freed":
		w.step(now, memory.Freed{Bytes: bytes})
	case "lasts":
		w.step(now, memory.Lasts{Bytes: bytes})
	case "run":
		for due, ok := w.queue.Due(); ok && due <= time.Duration(until)*time.Millisecond; due, ok = w.queue.Due() {
			w.step(due, memory.Tick{})
		}
	default:
		d.Fatalf(t, "no command %q", d.Cmd)
	}
}

func (w *world) step(now time.Duration, ev memory.Event) {
	for _, e := range w.queue.Step(now, ev) {
		fmt.Fprintf(&w.out, "%v: %v\n", now, e)
	}
}
