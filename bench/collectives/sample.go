package main

import (
	"fmt"
	"slices"
)

// sample is one run of a job by one system.
type sample struct {
	System  string `json:"system"`
	Variant string `json:"variant,omitempty"` // of a peer's algorithms
	job
	Run  int     `json:"run"`
	Last float64 `json:"last_ms"` // from the common start until the last node had finished
	Root float64 `json:"root_ms"` // until the first node had finished
	Late float64 `json:"late_ms"` // until the last node woke up: mostly the machine's share, not the system's
}

// took is how long the run took.
func (s sample) took() float64 {
	if s.atRoot() {
		return s.Root
	}
	return s.Last
}

// cell is all runs of a job by a system. Times are in milliseconds.
type cell struct {
	System  string  `json:"system"`
	Variant string  `json:"variant,omitempty"`
	Median  float64 `json:"median_ms"`
	Min     float64 `json:"min_ms"`
	Max     float64 `json:"max_ms"`
	Runs    int     `json:"runs"`
}

func (c cell) String() string {
	return fmt.Sprintf("%s (%s–%s)", millis(c.Median), millis(c.Min), millis(c.Max))
}

func millis(ms float64) string {
	switch {
	case ms < 10:
		return fmt.Sprintf("%.2f", ms)
	case ms < 100:
		return fmt.Sprintf("%.1f", ms)
	default:
		return fmt.Sprintf("%.0f", ms)
	}
}

// summary makes cells of the samples of one job, in the order of the systems. It takes
// a peer's variant with the least median.
func summary(systems []string, samples []sample) []cell {
	var cells []cell
	for _, system := range systems {
		variants := map[string][]float64{}
		for _, s := range samples {
			if s.System == system {
				variants[s.Variant] = append(variants[s.Variant], s.took())
			}
		}
		var best *cell
		for variant, all := range variants {
			slices.Sort(all)
			c := cell{System: system, Variant: variant, Median: all[len(all)/2], Min: all[0], Max: all[len(all)-1], Runs: len(all)}
			if len(all)%2 == 0 {
				c.Median = (all[len(all)/2-1] + all[len(all)/2]) / 2
			}
			if best == nil || c.Median < best.Median {
				best = &c
			}
		}
		if best != nil {
			cells = append(cells, *best)
		}
	}
	return cells
}
