package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx/bench/record"
)

// sample is one run of one case.
type sample struct {
	Case   string               `json:"case"`
	Run    int                  `json:"run"`
	Values map[string]float64   `json:"values"`           // of measures, by name
	Series map[string][]float64 `json:"series,omitempty"` // for plots: when tasks were done
}

// measure is a number of each run.
type measure struct {
	name  string
	paper string // the paper's statement
}

// row summarizes a measure over all runs of a case.
type row struct {
	Case      string  `json:"case"`
	Measure   string  `json:"measure"`
	Paper     string  `json:"paper,omitempty"`
	Runs      int     `json:"runs"` // with this measure
	Mean      float64 `json:"mean"`
	Deviation float64 `json:"deviation"` // of a sample: by n−1
	P90       float64 `json:"p90"`       // nine of ten runs are at most this
}

func newRow(c string, m measure, values []float64) row {
	r := row{Case: c, Measure: m.name, Paper: m.paper, Runs: len(values)}
	if len(values) == 0 {
		return r
	}
	for _, v := range values {
		r.Mean += v / float64(len(values))
	}
	for _, v := range values {
		r.Deviation += (v - r.Mean) * (v - r.Mean)
	}
	r.Deviation = math.Sqrt(r.Deviation / float64(max(1, len(values)-1)))
	sorted := slices.Sorted(slices.Values(values))
	r.P90 = sorted[(9*len(sorted)+9)/10-1] // nearest rank
	return r
}

// result is the result of one part.
type result struct {
	Name    string   `json:"name"`
	About   string   `json:"about"`
	Samples []sample `json:"samples"`
	Rows    []row    `json:"rows"`
}

// sum makes the rows of the samples: those of a case together, cases in the order of the
// samples.
func (r *result) sum(measures []measure) {
	var cases []string
	for _, s := range r.Samples {
		if !slices.Contains(cases, s.Case) {
			cases = append(cases, s.Case)
		}
	}
	r.Rows = nil
	for _, c := range cases {
		for _, m := range measures {
			var values []float64
			for _, s := range r.Samples {
				if v, ok := s.Values[m.name]; ok && s.Case == c {
					values = append(values, v)
				}
			}
			if len(values) > 0 {
				r.Rows = append(r.Rows, newRow(c, m, values))
			}
		}
	}
}

// table is Markdown.
func (r *result) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| case | measure | paper | mean | deviation | 90th percentile | runs |\n|---|---|---|---|---|---|---|\n", r.Name, r.About)
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %d |\n", row.Case, row.Measure, row.Paper, digits(row.Mean), digits(row.Deviation), digits(row.P90), row.Runs)
	}
	return b.String()
}

// digits prints three significant digits, and all digits before the point.
func digits(v float64) string {
	switch a := math.Abs(v); {
	case a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// report is the result of one run of the benchmark.
type report struct {
	Command string    `json:"command"`
	Machine string    `json:"machine"`
	Date    time.Time `json:"date"`
	Parts   []*result `json:"parts"`
}

func newReport(args []string) *report {
	return &report{Command: strings.Join(append([]string{"go run ./bench/barriers"}, args...), " "), Machine: record.Machine(), Date: time.Now().UTC().Truncate(time.Second)}
}

// table is Markdown, with a table for each part.
func (r *report) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "`%s`, %s, %s.\n", r.Command, r.Machine, r.Date.Format(time.DateOnly))
	for _, p := range r.Parts {
		b.WriteString(p.table())
	}
	return b.String()
}

// write writes everything into a directory.
func (r *report) write(dir string) error {
	if err := record.Write(dir, r, r.table()); err != nil {
		return err
	}
	for _, p := range r.Parts {
		if err := p.plot(dir); err != nil {
			return err
		}
	}
	return nil
}
