package main

import (
	"context"
	"fmt"
	"time"
)

// The measures of two barriers in a row.
const (
	msTwo    = "ms for two in a row"
	msSpread = "ms until the last host knows"
)

const degree = 10 // of the paper's tree

// twoBarriers is figure 6 of the paper, and its comparison of a central manager with a tree
// (section 7).
var twoBarriers = part{
	name: "two",
	about: func(o options) string {
		return fmt.Sprintf(`Two strict barriers in a row, and a central manager beside a tree of degree %d. %d nodes, each a process; hosts are participants, in turn on the nodes, so that those of one node share messages.
"For two in a row" is from when the first barrier has fired until the second has; "until the last host knows" is how much later than the first host the last one hears that the first has fired.
The tree is made of the library's barriers: an inner host and its children have two, which the host's node manages. When the first fires, all below are there, and the host enters its parent's; the host enters the second when its parent has released it.
The paper ran on PlanetLab and states no delays. The cases with a delay inject them: a host waits before it enters and after it was released, for the way from it to the manager, or in the tree to its parent. A way takes a quarter of the delay and an exponentially distributed rest, the same in every run; its mean is the delay.`, degree, o.nodes)
	},
	measures: []measure{{msTwo, "≈ 1,000 with 100 hosts"}, {msSpread, "central less than tree with 100"}},
	measure: func(ctx context.Context, o options, add func(sample)) error {
		f, err := launch(o.nodes)
		if err != nil {
			return err
		}
		defer f.stop()
		for _, delay := range []time.Duration{0, o.delay} {
			for _, hosts := range o.hosts {
				for run := range o.runs {
					for _, degree := range []int{0, degree} { // in turn, so that both run under the same load
						if ctx.Err() != nil {
							return ctx.Err()
						}
						s, err := measureTwo(f, passage{Hosts: hosts, Degree: degree, Delay: delay}, run)
						if err != nil {
							return fmt.Errorf("%s: %w", s.Case, err)
						}
						add(s)
					}
				}
			}
			if o.delay == 0 {
				break
			}
		}
		return nil
	},
}

func (p passage) String() string {
	s := fmt.Sprintf("%d hosts, central", p.Hosts)
	if p.Degree > 0 {
		s = fmt.Sprintf("%d hosts, tree", p.Hosts)
	}
	if p.Delay > 0 {
		s += fmt.Sprintf(", delay %v", p.Delay)
	}
	return s
}

// measureTwo has hosts pass three barriers in a row. The first opens connections.
func measureTwo(f fleet, p passage, run int) (sample, error) {
	p.Rounds = 3
	s := sample{Case: p.String(), Run: run}
	all, err := f.pass(p, fmt.Sprintf("two/%s/%d", p, run))
	if err == nil {
		s.Values = map[string]float64{msTwo: two(all, 1), msSpread: spread(all, 1)}
	}
	return s, err
}
