package workflow

import (
	"fmt"

	"github.com/phalanx-go/phalanx/messages"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// lower returns a recorded graph as the cores know it.
func lower(g *messages.Graph) (*core.Graph, error) {
	names := g.Names()
	out := &core.Graph{Tasks: make([]core.Task, len(g.Tasks))}
	reads, plain := make([]int32, len(g.Tasks)), make([]bool, len(g.Tasks)) // the last task, and one, that reads it; whether one does without Catch
	for v := range g.Tasks {
		from, c := &g.Tasks[v], &g.Calls[g.Tasks[v].Call]
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
		t.Needs = int32(g.Needs(v))
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
		Limit:   core.Limit{Name: c.Limit, Most: c.LimitMost},
		Expands: c.Expands, Actor: c.Actors, Snapshot: c.Snapshot, Arrival: c.Kind == messages.CallReduce && arrivalShows(c.Op, c.DType, c.Num)}
}
