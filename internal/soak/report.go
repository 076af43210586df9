package soak

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Result is the result of a run.
type Result struct {
	Nodes      int                `json:"nodes"`
	Seed       uint64             `json:"seed"`
	Seconds    float64            `json:"seconds"`
	Operations map[string]int     `json:"operations"` // by kind, whatever their outcome
	Errors     map[string]int     `json:"errors"`     // by kind: of all calls; each error was right
	Faults     map[string]int     `json:"faults"`     // by kind
	Bytes      int64              `json:"bytes"`      // read and checked
	Slowest    map[string]float64 `json:"slowest"`    // seconds of a call that succeeded, by kind
	Evicted    uint64             `json:"evicted"`    // copies, at least: evictions of a process after its last rest are not counted
	Histories  int                `json:"histories"`  // objects whose history was judged
	Judged     int                `json:"judged"`     // calls in them
	Undecided  int                `json:"undecided"`  // histories for which the search took too long
	Start      map[string]Figures `json:"start"`      // of the live processes, when the driver looked at them first
	End        map[string]Figures `json:"end"`        // of the same
	Mistaken   int                `json:"mistaken"`   // nodes that were removed without a fault or a standstill
	Stolen     float64            `json:"stolen"`     // the share of the cores' time that the host of this machine gave to others
	Wrong      []string           `json:"wrong,omitempty"`
	Events     []string           `json:"events,omitempty"` // if something was wrong, the last events of each process
	OK         bool               `json:"ok"`
}

// Progress is the interim result of a run.
type Progress struct {
	At         time.Duration
	Nodes      int
	Operations int
	Errors     int
	Faults     map[string]int
	Bytes      int64
}

// String returns a line for people.
func (p Progress) String() string {
	line := fmt.Sprintf("%7.1f s  %d nodes, %d operations, %d of them with a permitted error, %.1f MB read", p.At.Seconds(), p.Nodes, p.Operations, p.Errors, float64(p.Bytes)/(1<<20))
	if f := Counts(p.Faults); f != "" {
		line += "; faults: " + f
	}
	return line
}

// Counts returns "a 1, b 2".
func Counts(m map[string]int) string {
	var all []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		all = append(all, fmt.Sprintf("%s %d", k, m[k]))
	}
	return strings.Join(all, ", ")
}

// counted notes a call.
func (s *soak) counted(r result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.res.Operations[r.order.Do]++
	switch {
	case !r.answered:
		s.res.Errors["died"]++
	case r.Kind != 0:
		s.res.Errors[r.Kind.Error()]++
	default:
		if r.order.Do == "get" || r.order.Do == "open" {
			s.res.Bytes += r.Size
		}
		s.res.Slowest[r.order.Do] = max(s.res.Slowest[r.order.Do], r.Took.Seconds())
	}
}

func (s *soak) progress() Progress {
	p := Progress{At: s.clock(), Nodes: len(s.fleet.members()), Faults: s.faults.copyCounts()}
	s.mu.Lock()
	defer s.mu.Unlock()
	p.Bytes = s.res.Bytes
	for _, n := range s.res.Operations {
		p.Operations += n
	}
	for _, n := range s.res.Errors {
		p.Errors += n
	}
	return p
}

// report reports the progress until the caller calls end.
func (s *soak) report() (end func()) {
	if s.cfg.Report == nil {
		return func() {}
	}
	return often(func() { s.cfg.Report(s.progress()) })
}

// often calls f every ReportEvery until the caller calls end, and then once more.
func often(f func()) (end func()) {
	over := make(chan struct{})
	var telling sync.WaitGroup
	telling.Go(func() {
		t := time.NewTicker(ReportEvery)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				f()
			case <-over:
				f()
				return
			}
		}
	})
	return func() { close(over); telling.Wait() }
}
