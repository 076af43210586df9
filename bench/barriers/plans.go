package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// The measures of collectives after a revoke.
const (
	msBefore = "ms before the revoke"
	msFirst  = "ms, the first after it"
	msSecond = "ms, the second"
	msThird  = "ms, the third"
	ratio1   = "the first / before"
	ratio2   = "the second / before"
	ratio3   = "the third / before"
)

// plans is the benchmark of the paper on revoke.
var plans = part{
	name: "plans",
	about: func(options) string {
		return fmt.Sprintf(`Logarithmic revoke: AllReduce after AllReduce in one group (plan A), which a member revokes, and then in another (plan B). It is BenchmarkPlans of package group, with eight processes, run anew for each run: a time is the median of %d
repetitions of that of the slowest member, a ratio that of two times of one run.`, plansTimes)
	},
	measures: []measure{{msBefore, ""}, {msFirst, ""}, {msSecond, ""}, {msThird, ""}, {ratio1, "some"}, {ratio2, "little"}, {ratio3, "no difference"}},
	measure: func(ctx context.Context, o options, add func(sample)) error {
		dir, err := root()
		if err != nil {
			return err
		}
		for run := range o.runs {
			cmd := exec.CommandContext(ctx, "go", "test", "./group", "-run", "xxx", "-bench", "^BenchmarkPlans$", "-benchtime", fmt.Sprint(plansTimes, "x"), "-timeout", plansTime.String())
			cmd.Dir, cmd.Stderr = dir, os.Stderr
			said, err := cmd.Output()
			if err != nil {
				return fmt.Errorf("%s: %w: %s", cmd, err, said)
			}
			samples, err := parsePlans(string(said))
			if err != nil {
				return err
			}
			for _, s := range samples {
				s.Run = run
				add(s)
			}
		}
		return nil
	},
}

const (
	plansTimes = 10
	plansTime  = 10 * time.Minute
)

// parsePlans reads the output of the benchmark: a line for each size.
func parsePlans(text string) (all []sample, err error) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "BenchmarkPlans/bytes=") {
			continue
		}
		size, _, _ := strings.Cut(strings.TrimPrefix(fields[0], "BenchmarkPlans/bytes="), "-")
		bytes, err := strconv.Atoi(size)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", fields[0], err)
		}
		of := map[string]float64{}
		for i := 2; i+1 < len(fields); i += 2 {
			if of[fields[i+1]], err = strconv.ParseFloat(fields[i], 64); err != nil {
				return nil, fmt.Errorf("%q: %w", line, err)
			}
		}
		s := sample{Case: fmt.Sprint(bytes>>10, " KB"), Values: map[string]float64{}}
		for unit, names := range map[string][2]string{"ms-first": {msFirst, ratio1}, "ms-second": {msSecond, ratio2}, "ms-third": {msThird, ratio3}} {
			if of[unit] <= 0 || of["ms-undisturbed"] <= 0 {
				return nil, fmt.Errorf("the line %q has no %s", line, unit)
			}
			s.Values[names[0]], s.Values[names[1]] = of[unit], of[unit]/of["ms-undisturbed"]
		}
		s.Values[msBefore] = of["ms-undisturbed"]
		all = append(all, s)
	}
	if len(all) == 0 {
		return nil, errors.New("the benchmark printed no line of BenchmarkPlans")
	}
	return all, nil
}
