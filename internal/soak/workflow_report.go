package soak

import (
	"fmt"
	"time"
)

// WorkflowResult is the result of a run of RunWorkflows.
type WorkflowResult struct {
	Nodes    int                `json:"nodes"`
	Seed     uint64             `json:"seed"`
	Seconds  float64            `json:"seconds"`
	Runs     map[string]int     `json:"runs"`    // that have ended right, by kind
	Checked  int                `json:"checked"` // runs, of which all effects were checked
	Calls    int                `json:"calls"`
	Errors   map[string]int     `json:"errors"`   // of calls, by kind; the driver repeated these calls
	Faults   map[string]int     `json:"faults"`   // by kind
	Resumed  int                `json:"resumed"`  // runs that were stuck since tasks had lost their processes too often
	Upgraded int                `json:"upgraded"` // resumes with another version of a task, since no node had the one in the run any more
	Slowest  map[string]float64 `json:"slowest"`  // seconds of a run, by kind
	Start    map[string]Figures `json:"start"`    // of the processes, at the first rest
	End      map[string]Figures `json:"end"`      // at the last
	Stolen   float64            `json:"stolen"`   // the share of the cores' time that the host of this machine gave to others
	Wrong    []string           `json:"wrong,omitempty"`
	Events   []string           `json:"events,omitempty"` // if something was wrong, the last events of each process
	OK       bool               `json:"ok"`
}

// WorkflowProgress is the interim result of a run.
type WorkflowProgress struct {
	At      time.Duration
	Runs    map[string]int
	Calls   int
	Errors  int
	Resumed int
	Faults  map[string]int
}

// String returns a line for people.
func (p WorkflowProgress) String() string {
	line := fmt.Sprintf("%7.1f s  runs: %s; %d calls, %d repeated", p.At.Seconds(), Counts(p.Runs), p.Calls, p.Errors)
	if p.Resumed > 0 {
		line += fmt.Sprintf(", %d stuck runs resumed", p.Resumed)
	}
	if f := Counts(p.Faults); f != "" {
		line += "; faults: " + f
	}
	return line
}

func (w *workflows) progress() WorkflowProgress {
	p := WorkflowProgress{At: w.clock(), Runs: map[string]int{}, Faults: map[string]int{}}
	w.mu.Lock()
	defer w.mu.Unlock()
	for k, n := range w.res.Runs {
		p.Runs[k] = n
	}
	for k, n := range w.res.Faults {
		p.Faults[k] = n
	}
	p.Calls, p.Resumed = w.res.Calls, w.res.Resumed
	for _, n := range w.res.Errors {
		p.Errors += n
	}
	return p
}
