// Package steal tells how much of the cores' time the host of a virtual machine
// gave to others. What is measured meanwhile is the host's schedule.
package steal

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Total returns for how long the cores of this machine, all together and since
// its start, were ready to run and did not. It is 0 where that is not told: only
// Linux does, in steps of 10 ms.
func Total() time.Duration {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	return parse(string(b))
}

// parse returns the eighth number of the first line of /proc/stat, "steal", which
// is in units of USER_HZ.
func parse(stat string) time.Duration {
	const column, unit = 8, 10 * time.Millisecond
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) <= column {
		return 0
	}
	n, err := strconv.ParseInt(fields[column], 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(n) * unit
}

// Share returns which part of the cores' time in a span was stolen.
func Share(stolen, span time.Duration) float64 {
	if span <= 0 {
		return 0
	}
	return float64(stolen) / float64(span) / float64(runtime.NumCPU())
}
