package detect_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/detect"
)

// TestScripts replays testdata/*; run with -rewrite, then read the diff.
//
// "node" makes a core. "view", "tick", "echo", "hear", "broken", "refuses" and "accused"
// are its events, at=5 at the millisecond 5. "run until=700 echo=(b,c)" ticks
// when the core is due, and echoes the heartbeats of b and c at once; overdue=(d) says
// each time that an answer of d is. "due" says when that is.
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
				if w.out.Len() == 0 {
					return "ok\n"
				}
				return w.out.String()
			})
		})
	}
}

type world struct {
	core *detect.Core
	out  strings.Builder
}

func (w *world) run(t *testing.T, d *datadriven.TestData) {
	var at, told int64
	node, by, cause := "", "", ""
	d.MaybeScanArgs(t, "at", &at)
	d.MaybeScanArgs(t, "told", &told)
	d.MaybeScanArgs(t, "by", &by)
	d.MaybeScanArgs(t, "cause", &cause)
	if len(d.CmdArgs) > 0 && len(d.CmdArgs[0].Vals) == 0 {
		node = d.CmdArgs[0].Key
	}
	now, id := time.Duration(at)*time.Millisecond, phalanx.NodeID(node)
	switch d.Cmd {
	case "node":
		w.core = detect.New(detect.Config{Self: id})
	case "view":
		w.step(detect.Changed{Members: ids(d, "members"), Voters: ids(d, "voters"), Now: now})
	case "tick":
		w.step(detect.Tick{Streams: ids(d, "streams"), Overdue: ids(d, "overdue"), Now: now})
	case "echo":
		w.step(detect.Echoed{Node: id, Now: now})
	case "hear":
		w.step(detect.Heard{Node: id, Now: now})
	case "due":
		if at, ok := w.core.Due(); ok {
			fmt.Fprintln(&w.out, at)
		}
	case "broken":
		w.step(detect.Broken{Node: id, Now: now})
	case "refuses":
		w.step(detect.Refuses{Node: id, Now: now})
	case "accused":
		c := map[string]detect.Cause{"silent": detect.Silent, "refused": detect.Refused, "trusted": detect.Trusted}[cause]
		w.step(detect.Accused{By: phalanx.NodeID(by), Node: id, Cause: c, Told: time.Duration(told) * time.Millisecond, Now: now})
	case "run":
		var until int64
		d.ScanArgs(t, "until", &until)
		w.until(time.Duration(until)*time.Millisecond, ids(d, "echo"), ids(d, "overdue"))
	case "late":
		fmt.Fprintln(&w.out, w.core.Late())
	case "suspects":
		fmt.Fprintln(&w.out, w.core.Suspects())
	default:
		d.Fatalf(t, "no command %q", d.Cmd)
	}
}

func ids(d *datadriven.TestData, key string) []phalanx.NodeID {
	var out []phalanx.NodeID
	for _, a := range d.CmdArgs {
		if a.Key == key {
			for _, v := range a.Vals {
				out = append(out, phalanx.NodeID(v))
			}
		}
	}
	return out
}

func (w *world) step(ev detect.Event) {
	for _, e := range w.core.Step(ev) {
		fmt.Fprintln(&w.out, e)
	}
}

// until ticks whenever the core is due. Heartbeats are not shown.
func (w *world) until(end time.Duration, echo, overdue []phalanx.NodeID) {
	for {
		now, ok := w.core.Due()
		if !ok || now > end {
			return
		}
		effects := w.core.Step(detect.Tick{Overdue: overdue, Now: now})
		for len(effects) > 0 {
			e := effects[0]
			effects = effects[1:]
			beat, ok := e.(detect.Beat)
			if !ok {
				fmt.Fprintf(&w.out, "%v: %v\n", now, e)
				continue
			}
			for _, id := range echo {
				if id == beat.Node {
					effects = append(effects, w.core.Step(detect.Echoed{Node: id, Now: now})...)
				}
			}
		}
	}
}
