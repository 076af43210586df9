package barrier

import (
	"slices"
	"time"
)

// historyLimit bounds the release times that an adaptive semaphore remembers.
const historyLimit = 4096

// Adaptive says how many may hold a semaphore, by how long holders take (section
// 4.2 of the paper): while the last ones take no longer than all did, one more; if
// they take much longer, one less. It decides once for as many completions as there
// are holders: at every one, as the paper has it, it never throttles while others
// wait.
type Adaptive struct {
	Level int             // how many may hold it
	Took  []time.Duration // the latest release times, oldest first
	Since int             // completions since the last decision
}

// Done notes that a holder has taken so long. The level stays from 1 to limit.
func (a *Adaptive) Done(took time.Duration, limit int) {
	if len(a.Took) == historyLimit {
		a.Took = slices.Delete(a.Took, 0, historyLimit/4)
	}
	a.Took = append(a.Took, took)
	if a.Since++; a.Since < a.Level {
		return
	}
	a.Since = 0
	a.Level = min(max(1, a.Level+replacements(a.Took, a.Level)-1), limit)
}

// replacements is how many entries replace one that leaves: 0, 1 or 2, by the medians of the
// last c release times and of all.
func replacements(took []time.Duration, c int) int {
	last, all := median(took[max(0, len(took)-c):]), median(took)
	switch { // without fractions: exactly 1.5 times is not more
	case 2*last > 3*all:
		return 0
	case 10*last > 11*all:
		return 1
	}
	return 2
}

// median returns twice the median, which is a whole number.
func median(took []time.Duration) time.Duration {
	s := slices.Sorted(slices.Values(took))
	if len(s) == 0 {
		return 0
	}
	return s[(len(s)-1)/2] + s[len(s)/2]
}
