package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx/bench/record"
)

// report is the result of one run of the benchmark.
type report struct {
	Machine string    `json:"machine"`
	Date    time.Time `json:"date"`
	Parts   []*result `json:"parts"`
}

func newReport() *report {
	return &report{Machine: record.Machine(), Date: time.Now().UTC().Truncate(time.Second)}
}

// table is Markdown, with a table for each part.
func (r *report) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Medians (least–most) in milliseconds, %s, %s.\n", r.Machine, r.Date.Format(time.DateOnly))
	for _, p := range r.Parts {
		if p.Name != "" {
			fmt.Fprintf(&b, "\n## %s\n\n%s\n", p.Name, p.About)
		}
		b.WriteString("\n" + p.table())
	}
	return b.String()
}

// write writes everything into a directory.
func (r *report) write(dir string) error {
	if err := record.Write(dir, r, r.table()); err != nil {
		return err
	}
	for _, p := range r.Parts {
		if err := p.plots(dir); err != nil {
			return err
		}
	}
	return nil
}
