package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/phalanx-go/phalanx/internal/bench"
)

// result is the result of one part.
type result struct {
	Name    string   `json:"name,omitempty"`
	About   string   `json:"about,omitempty"`
	Rate    int64    `json:"rate_bits_per_second"` // 0: not shaped
	Samples []sample `json:"samples"`
	Rows    []row    `json:"rows"`

	systems  []string
	terminal bool
}

func newResult(p part) *result {
	return &result{Name: p.Name, About: p.About, Rate: p.Rate, systems: p.Systems, terminal: term.IsTerminal(int(os.Stderr.Fd()))}
}

// add takes a sample, and shows it on a terminal.
func (r *result) add(s sample) {
	r.Samples = append(r.Samples, s)
	if r.terminal {
		fmt.Fprintf(os.Stderr, "\r\033[K%s: %s: %s ms", s.System, s.job, millis(s.took()))
	}
}

// sum makes the rows of the samples.
func (r *result) sum() {
	if r.terminal {
		fmt.Fprint(os.Stderr, "\r\033[K")
	}
	r.Rows = r.rows()
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
	ops := append(slices.Clone(bench.Ops), directoryOps...)
	slices.SortStableFunc(jobs, func(a, b job) int {
		if a.Op != b.Op {
			return slices.Index(ops, a.Op) - slices.Index(ops, b.Op)
		}
		if a.Size != b.Size {
			return int(a.Size - b.Size)
		}
		return a.Nodes - b.Nodes
	})
	var rows []row
	for _, j := range jobs {
		rows = append(rows, row{job: j, Bound: j.bound(r.Rate).Seconds() * 1e3, Cells: summary(r.systems, of[j])})
	}
	return rows
}

// table is Markdown: milliseconds, the median and in brackets the least and the most, and
// the ratios of Phalanx to the bound and to the best peer.
func (r *result) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| work | bound | %s | Phalanx / bound | Phalanx / best peer |\n|---|---|%s---|---|\n",
		strings.Join(r.systems, " | "), strings.Repeat("---|", len(r.systems)))
	for _, row := range r.Rows {
		bound, byBound, byPeer := "", "", ""
		if row.Bound > 0 {
			bound = millis(row.Bound)
		}
		var own, best *cell
		line := make([]string, len(r.systems))
		for i, c := range row.Cells {
			line[slices.Index(r.systems, c.System)] = c.String()
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
