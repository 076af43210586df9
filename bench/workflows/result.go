package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx/bench/record"
	"github.com/phalanx-go/phalanx/bench/workflows/load"
)

// result is all that was measured, with every sample.
type result struct {
	Machine string
	When    time.Time
	Points  []load.Point
	Missing []string // what could not be measured, and why

	systems []system
	parts   []string
}

func newResult(parts []string) *result {
	return &result{Machine: record.Machine(), When: time.Now().UTC(), parts: parts}
}

func (r *result) add(s system) { r.systems = append(r.systems, s) }

// table has a row for each part and a column for each system.
func (r *result) table() string {
	var t strings.Builder
	fmt.Fprintf(&t, "%s. Synced to disk before a run goes on; medians; killed: p50 / most of all rounds.\n\n|part|", r.Machine)
	for _, s := range r.systems {
		t.WriteString(s.name + "|")
	}
	t.WriteString("\n|-|" + strings.Repeat("-|", len(r.systems)) + "\n")
	for _, part := range r.parts {
		t.WriteString("|" + describe(part) + "|")
		for _, s := range r.systems {
			i := slices.IndexFunc(r.Points, func(p load.Point) bool { return p.System == s.name && p.Part == part })
			if i < 0 {
				t.WriteString("–|")
				continue
			}
			t.WriteString(figure(r.Points[i]) + "|")
		}
		t.WriteString("\n")
	}
	for _, m := range r.Missing {
		fmt.Fprintf(&t, "\nNot measured: %s\n", m)
	}
	return t.String()
}

func describe(part string) string {
	if p, err := load.Find(part); err == nil {
		return p.Text + ", " + p.Unit
	}
	return "the process of a task is killed → the next task begins, ms"
}

func figure(p load.Point) string {
	if len(p.Samples.Took) == 0 {
		return "no run ended"
	}
	part, err := load.Find(p.Part)
	if err != nil {
		return fmt.Sprintf("%.0f / %.0f", load.Quantile(p.Samples.Took, 0.5), load.Quantile(p.Samples.Took, 1))
	}
	if f := part.Figure(p.Samples); f < 100 {
		return fmt.Sprintf("%.2f", f)
	} else {
		return fmt.Sprintf("%.0f", f)
	}
}
