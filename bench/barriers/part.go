package main

import (
	"context"
	"fmt"
	"os"
)

// part is an experiment of a paper.
type part struct {
	name     string
	about    func(o options) string
	measures []measure
	measure  func(ctx context.Context, o options, add func(sample)) error
}

// parts are in the order in which the papers have them.
var parts = []part{twoBarriers, refinement, distribution, mapReduce, plans}

// run measures a part, and reports its progress on the standard error.
func (p part) run(ctx context.Context, o options) (*result, error) {
	r := &result{Name: p.name, About: p.about(o)}
	err := p.measure(ctx, o, func(s sample) {
		r.Samples = append(r.Samples, s)
		fmt.Fprintf(os.Stderr, "%s, %s: run %d\n", p.name, s.Case, s.Run+1)
	})
	r.sum(p.measures)
	return r, err
}
