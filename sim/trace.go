package sim

import (
	"fmt"
	"io"
	"time"
)

// trace is a running hash of everything that happens, and its text if there is a reader. Formatting
// costs more than the simulation itself, so the hash is over a few words of each step: a difference
// shows in the times of later steps.
type trace struct {
	hash uint64
	out  io.Writer
}

// add mixes x into the hash (FNV-1a on words).
func (t *trace) add(x uint64) { t.hash = (t.hash ^ x) * 1099511628211 }

func (t *trace) text(s string) {
	for i := 0; i < len(s); i++ {
		t.add(uint64(s[i]))
	}
}

// say writes one line if there is a reader.
func (t *trace) say(now time.Duration, who, format string, args ...any) {
	if t.out == nil {
		return
	}
	fmt.Fprintf(t.out, "%11.3fms %-6s %s\n", float64(now)/1e6, who, fmt.Sprintf(format, args...))
}
