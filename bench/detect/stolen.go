package main

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// stolen is the time for which the cores of this machine, a virtual one, were
// ready and the host gave them to others: all cores together, since the start.
// It is 0 where that is not told.
func stolen() time.Duration {
	const (
		column = 8                     // of the first line of /proc/stat, "steal"
		tick   = 10 * time.Millisecond // USER_HZ
	)
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(b), "\n")
	fields := strings.Fields(line)
	if len(fields) <= column {
		return 0
	}
	n, err := strconv.ParseInt(fields[column], 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(n) * tick
}

// robbed reports whether more than a tenth of the cores' time was stolen. What a
// trial then shows is the host's schedule.
func robbed(stolen, of time.Duration) bool {
	return stolen*10 > of*time.Duration(runtime.NumCPU())
}
