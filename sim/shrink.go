package sim

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// shrinkRuns bounds the runs for making a failure smaller.
const shrinkRuns = 300

// Shrink repeats a failing run with fewer and fewer actions and, if possible, without bad weather,
// as long as the same invariant breaks. It returns the smallest run that it finds.
func Shrink(cfg Config, r Result) (Config, Result) {
	best := r
	cfg.Only, cfg.Trace = r.Actions, nil
	kind, runs := label(r.Err), 0
	try := func(c Config) bool {
		if runs >= shrinkRuns {
			return false
		}
		runs++
		c.Services, c.Alone = cfg.Services, cfg.Alone
		next := Run(c)
		if next.Err == nil || label(next.Err) != kind {
			return false
		}
		best, cfg = next, c
		return true
	}
	try(Config{Seed: r.Seed, Only: cfg.Only, Calm: true})
	for size := max(len(cfg.Only)/2, 1); ; {
		smaller := false
		for at := 0; at < len(cfg.Only); {
			rest := slices.Delete(slices.Clone(cfg.Only), at, min(at+size, len(cfg.Only)))
			if try(Config{Seed: r.Seed, Only: rest, Calm: cfg.Calm}) {
				smaller = true
			} else {
				at += size
			}
		}
		if size == 1 && !smaller || runs >= shrinkRuns {
			return cfg, best
		}
		if size > 1 || !smaller {
			size = max(size/2, 1)
		}
	}
}

// label returns the common part of two failures: the invariant, without the place where it broke.
func label(err error) string {
	_, text, _ := strings.Cut(err.Error(), "step ")
	_, text, _ = strings.Cut(text, ": ")
	if m := regexp.MustCompile(`^\([0-9, ]+\)`).FindString(text); m != "" {
		return m
	}
	first, _, _ := strings.Cut(text, "\n")
	return regexp.MustCompile(`[0-9]+`).ReplaceAllString(first, "")
}

// Replay returns the arguments of the command that runs c again.
func (c Config) Replay() string {
	s := fmt.Sprintf("--seed %d", c.Seed)
	if c.Alone {
		s = "--" + c.Services[0].Name + " " + s
	} else if slices.ContainsFunc(c.Services, func(k Kind) bool { return k.Durable }) {
		s = "--together " + s
	}
	if c.Calm {
		s += " --calm"
	}
	if c.Only != nil {
		var numbers []string
		for _, n := range c.Only {
			numbers = append(numbers, fmt.Sprint(n))
		}
		s += " --only=" + strings.Join(numbers, ",")
	}
	return s
}
