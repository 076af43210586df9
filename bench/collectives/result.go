package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/phalanx-go/phalanx/bench/record"
	"github.com/phalanx-go/phalanx/internal/bench"
)

// result is what one run of the benchmark has measured.
type result struct {
	Machine string    `json:"machine"`
	Date    time.Time `json:"date"`
	Rate    int64     `json:"rate_bits_per_second"` // 0: not shaped
	Samples []sample  `json:"samples"`

	plan     plan
	terminal bool
}

func newResult(p plan) *result {
	return &result{Machine: record.Machine(), Date: time.Now().UTC().Truncate(time.Second), Rate: p.Rate, plan: p, terminal: term.IsTerminal(int(os.Stderr.Fd()))}
}

// add takes a sample, and shows it on a terminal.
func (r *result) add(s sample) {
	r.Samples = append(r.Samples, s)
	if r.terminal {
		fmt.Fprintf(os.Stderr, "\r\033[K%s: %s: %s ms", s.System, s.job, millis(s.took()))
	}
}

// row is a job, and how long each system took.
type row struct {
	job
	Bound float64 `json:"bound_ms"`
	Cells []cell  `json:"cells"`
}

func (r *result) rows() []row {
	of := map[job][]sample{}
	var jobs []job
	for _, s := range r.Samples {
		if of[s.job] == nil {
			jobs = append(jobs, s.job)
		}
		of[s.job] = append(of[s.job], s)
	}
	slices.SortStableFunc(jobs, func(a, b job) int {
		if o := slices.Index(bench.Ops, a.Op) - slices.Index(bench.Ops, b.Op); o != 0 {
			return o
		}
		if a.Size != b.Size {
			return int(a.Size - b.Size)
		}
		return a.Nodes - b.Nodes
	})
	var rows []row
	for _, j := range jobs {
		rows = append(rows, row{job: j, Bound: j.bound(r.Rate).Seconds() * 1e3, Cells: summary(r.plan.Systems, of[j])})
	}
	return rows
}

// table is Markdown: milliseconds, the median and in brackets the least and the most;
// by how much Phalanx is above the bound; and how it compares with the best peer.
func (r *result) table() string {
	if r.terminal {
		fmt.Fprint(os.Stderr, "\r\033[K")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| work | bound | %s | Phalanx / bound | Phalanx / best peer |\n|---|---|%s---|---|\n",
		strings.Join(r.plan.Systems, " | "), strings.Repeat("---|", len(r.plan.Systems)))
	for _, row := range r.rows() {
		bound, byBound, byPeer := "", "", ""
		if row.Bound > 0 {
			bound = millis(row.Bound)
		}
		var own, best *cell
		line := make([]string, len(r.plan.Systems))
		for i, c := range row.Cells {
			line[slices.Index(r.plan.Systems, c.System)] = c.String()
			if c.System == "phalanx" {
				own = &row.Cells[i]
			} else if best == nil || c.Median < best.Median {
				best = &row.Cells[i]
			}
		}
		if own != nil && row.Bound > 0 {
			byBound = fmt.Sprintf("%.3f", own.Median/row.Bound)
		}
		if own != nil && best != nil {
			byPeer = fmt.Sprintf("%.2f", own.Median/best.Median)
			if own.Min <= best.Max && best.Min <= own.Max {
				byPeer += " (ranges overlap)"
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", row.job, bound, strings.Join(line, " | "), byBound, byPeer)
	}
	return b.String()
}

// write leaves everything in a directory.
func (r *result) write(dir string) error {
	head := fmt.Sprintf("Medians (least–most) in milliseconds, %s, %s.\n\n", r.Machine, r.Date.Format(time.DateOnly))
	err := record.Write(dir, struct {
		*result
		Rows []row `json:"rows"`
	}{r, r.rows()}, head+r.table())
	if err != nil {
		return err
	}
	return r.plots(dir)
}
