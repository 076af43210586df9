package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx/internal/soak"
)

func (a *app) soakWorkflows(ctx context.Context, cfg soakConfig) error {
	return a.soaks(cfg, func(exe string, said func(time.Duration, fmt.Stringer)) (any, []string, func(io.Writer), error) {
		res, err := soak.RunWorkflows(ctx, soak.WorkflowConfig{Nodes: cfg.nodes, For: cfg.time, Seed: cfg.seed, Faults: cfg.faults,
			Command: func(n soak.WorkflowNode) *exec.Cmd {
				as, _ := json.Marshal(n) // always can be
				exe := exe
				if cfg.next != "" && n.Build%2 == 1 {
					exe = cfg.next
				}
				return a.soakNode(exe, "--workflows="+string(as))
			},
			Report: func(p soak.WorkflowProgress) { said(p.At, p) }})
		return res, res.Wrong, func(out io.Writer) { soakWorkflowsText(out, res) }, err
	})
}

// soakWorkflowsText writes a result for people.
func soakWorkflowsText(w io.Writer, r soak.WorkflowResult) {
	for _, e := range r.Events {
		fmt.Fprintln(w, e)
	}
	fmt.Fprintf(w, "runs         %s, %d of them with all effects checked; %d were stuck and resumed, %d went on with another version of a task\n", soak.Counts(r.Runs), r.Checked, r.Resumed, r.Upgraded)
	fmt.Fprintf(w, "calls        %d; repeated: %s\n", r.Calls, soak.Counts(r.Errors))
	fmt.Fprintf(w, "faults       %s\n", soak.Counts(r.Faults))
	for _, name := range slices.Sorted(maps.Keys(r.End)) {
		was, is := r.Start[name], r.End[name]
		fmt.Fprintf(w, "%-12s %d copies, %d bytes, %d → %d goroutines, %d → %d file descriptors, %.1f → %.1f MB of heap, %.1f → %.1f MB on disk\n", name, is.Objects, is.Memory,
			was.Goroutines, is.Goroutines, was.Descriptors, is.Descriptors, float64(was.Heap)/(1<<20), float64(is.Heap)/(1<<20), float64(was.Disk)/(1<<20), float64(is.Disk)/(1<<20))
	}
	stolenText(w, r.Stolen)
	if r.OK {
		fmt.Fprintf(w, "ok: everything was right, in %.1f s\n", r.Seconds)
	}
}
