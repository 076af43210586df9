package workflow

import (
	"fmt"

	"github.com/phalanx-go/phalanx/messages"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// Rules that graphs obey beside those of the core.
const (
	// Support refuses what can be described, but no node can run yet.
	Support core.Rule = "support"
	// deterministicRule refuses the annotation where order shows (workflow specification 1.6).
	deterministicRule core.Rule = "deterministic"
)

// lower returns a recorded graph as the cores know it. This file alone knows what the core has no rule for: such a
// graph is refused with a *CheckError of the rule Support.
func lower(g *messages.Graph) (*core.Graph, error) {
	names := g.Names()
	out := &core.Graph{Tasks: make([]core.Task, len(g.Tasks))}
	reads, plain := make([]int32, len(g.Tasks)), make([]bool, len(g.Tasks)) // the last task, and one, that reads it; whether one does without Catch
	for v := range g.Tasks {
		from, c := &g.Tasks[v], &g.Calls[g.Tasks[v].Call]
		if why := unsupported(c); why != "" {
			return nil, &CheckError{Rule: Support, Path: names[v : v+1], Why: fmt.Sprintf("%s %s, which no node can run yet", names[v], why), Fix: "leave it away"}
		}
		t := lowerCall(c)
		t.Name = names[v]
		writes := map[int]bool{} // the actors of these
		for _, in := range from.Inputs {
			if !in.OfTask() {
				continue
			}
			if in.Kind == messages.InputCaught {
				out.Tasks[in.N].Caught = true
			} else {
				plain[in.N] = true
			}
			if reads[in.N] != int32(v)+1 {
				reads[in.N] = int32(v) + 1
				t.Reads = append(t.Reads, int(in.N))
			}
			if p := int(in.N); out.Tasks[p].Actor && in.Kind != messages.InputRead && !writes[p] {
				writes[p] = true
				t.Writes = append(t.Writes, p)
			}
		}
		for _, p := range from.After {
			if reads[p] != int32(v)+1 {
				t.After = append(t.After, int(p))
			}
		}
		out.Tasks[v] = t
	}
	for v, t := range out.Tasks {
		if t.Caught && plain[v] {
			return nil, &CheckError{Rule: core.Catch, Path: names[v : v+1], Why: fmt.Sprintf("the error of %s is caught by one task, and another one reads its output", names[v]), Fix: "catch it in both"}
		}
	}
	return out, nil
}

// lowerCall returns what a task promises.
func lowerCall(c *messages.GraphCall) core.Task {
	switch c.Kind {
	case messages.CallEvent:
		return core.Task{Event: c.Name, Effect: core.None}
	case messages.CallSleep:
		return core.Task{Sleep: max(1, c.Pause), Effect: core.None} // a sleep without a pause ends at once
	}
	return core.Task{Deterministic: c.Deterministic, Checkpoint: c.Checkpoint, Effect: c.Effect, Compensates: c.Compensates, Retries: c.Retries,
		Expands: c.Expands, Actor: c.Actors, Snapshot: c.Snapshot, Arrival: c.Kind == messages.CallReduce && arrivalShows(c.Op, c.DType, c.Num)}
}

// unsupported says what the core has no rule for; "": nothing.
func unsupported(c *messages.GraphCall) string {
	switch {
	case c.Limit != "":
		return "has a Limit"
	}
	return ""
}
