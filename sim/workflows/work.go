package workflows

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/messages"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// codec is the form of rows, as the actors have it.
type codec struct{}

func (codec) Encode(v core.RowValue) ([]byte, error) { return messages.MarshalRow(v) }

func (codec) Decode(b []byte, tasks int) (core.RowValue, error) {
	return messages.UnmarshalRow(b, tasks)
}

func (codec) Work(parts [][]byte) (*core.Work, error) { return workFrom(bytes.Join(parts, nil)) }

// partBytes is the size of the parts of a recorded workflow: tiny here.
const partBytes = 200

// workFrom returns the workflow of a recorded form.
func workFrom(form []byte) (*core.Work, error) {
	g, err := messages.UnmarshalGraph(form)
	if err != nil {
		return nil, err
	}
	w := &core.Work{Graph: &core.Graph{}, Digest: durable.DigestOf(form), Of: g}
	for at := 0; at < len(form); at += partBytes {
		w.Parts = append(w.Parts, form[at:min(at+partBytes, len(form))])
	}
	for v, t := range g.Tasks {
		c := g.Calls[t.Call]
		task := core.Task{Name: fmt.Sprint(c.Name, v)}
		switch c.Kind {
		case messages.CallEvent:
			task.Event, task.Effect = c.Name, core.None
		case messages.CallSleep:
			task.Sleep, task.Effect = c.Pause, core.None
		default:
			task.Deterministic, task.Checkpoint, task.Effect = c.Deterministic, c.Checkpoint, c.Effect
			task.Compensates, task.Retries = c.Compensates, c.Retries
			task.Expands, task.Actor, task.Snapshot = c.Expands, c.Actors, c.Snapshot
		}
		for _, in := range t.Inputs {
			if in.Kind == messages.InputCaught {
				w.Graph.Tasks[in.N].Caught = true
			}
			if in.OfTask() && !slices.Contains(task.Reads, int(in.N)) {
				task.Reads = append(task.Reads, int(in.N))
			}
			if p := int(in.N); in.OfTask() && w.Graph.Tasks[p].Actor && in.Kind != messages.InputRead && !slices.Contains(task.Writes, p) {
				task.Writes = append(task.Writes, p)
			}
		}
		for _, p := range t.After {
			if !slices.Contains(task.Reads, int(p)) {
				task.After = append(task.After, int(p))
			}
		}
		task.Needs = int32(g.Needs(v))
		w.Graph.Tasks = append(w.Graph.Tasks, task)
	}
	at := map[core.Function]int32{}
	for _, t := range g.Tasks {
		f := core.Function{Name: g.Calls[t.Call].Name, Version: g.Calls[t.Call].Version}
		if _, known := at[f]; !known {
			at[f] = int32(len(w.Functions))
			w.Functions = append(w.Functions, f)
		}
		w.Calls = append(w.Calls, at[f])
	}
	return w, nil
}

// randomGraph returns a workflow that core.Check accepts.
func (s *service) randomGraph() (*messages.Graph, []byte) {
	for {
		g := someGraph(s.R, nil)
		reduceSome(s.R, g)
		form, err := messages.MarshalGraph(g)
		if err != nil {
			s.Fail("%v", err)
		}
		w, err := workFrom(form)
		if err != nil {
			s.Fail("%v", err)
		}
		if _, err := core.Check(w.Graph); err == nil {
			return g, form
		}
	}
}

// someGraph returns a graph: that of a run, or one that an attempt returns.
func someGraph(r *rand.Rand, by *origin) *messages.Graph {
	g := &messages.Graph{}
	n := 1 + r.IntN(6)
	if by != nil {
		by.keep(g)
		n = len(g.Tasks) + 1 + r.IntN(4)
	}
	caught, used := make([]bool, n), make([]bool, n)
	actors := r.IntN(3) == 0
	for v := len(g.Tasks); v < n; v++ {
		c := messages.GraphCall{Name: [...]string{"f", "g"}[r.IntN(2)], Version: ofRun, Deterministic: r.IntN(2) == 0, Checkpoint: core.Checkpoint(r.IntN(3)), Effect: core.Effect(r.IntN(3)), Retries: r.IntN(2) * r.IntN(4)}
		c.Compensates = c.Effect != core.None && r.IntN(4) == 0
		caught[v] = r.IntN(6) == 0
		if actors && r.IntN(2) == 0 {
			c.Actors, c.Snapshot, c.Deterministic = true, r.IntN(2) == 0, false
		}
		if c.Actors && c.Effect == core.Idempotent { // its key would make another actor
			c.Effect, c.Compensates = core.None, false
		}
		if actors && r.IntN(2) == 0 { // an effect waits for all that has no snapshot
			c.Effect, c.Compensates = core.None, false
		}
		switch r.IntN(12) {
		case 0:
			c = messages.GraphCall{Kind: messages.CallEvent, Name: string(rune('a' + r.IntN(3)))}
		case 1:
			c = messages.GraphCall{Kind: messages.CallSleep, Pause: 1 + time.Duration(r.Int64N(int64(500*ms)))}
		case 2, 3:
			c = growing(c)
		}
		if by != nil {
			c = by.allowed(c, v == n-1)
			caught[v] = caught[v] && !by.call.Deterministic
		}
		caught[v] = caught[v] && c.Kind == messages.CallFunction && !c.Actors && !c.Expands
		t := messages.GraphTask{}
		read := func(p int) {
			kind := messages.InputTask
			switch {
			case caught[p]:
				kind = messages.InputCaught
			case g.Calls[g.Tasks[p].Call].Actors && r.IntN(2) == 0:
				kind = messages.InputRead
			}
			used[p] = true
			t.Inputs = append(t.Inputs, messages.GraphInput{Kind: kind, N: uint32(p)})
		}
		if c.Kind == messages.CallFunction {
			for p := range v {
				if r.IntN(2) == 0 {
					read(p)
				}
			}
			if by != nil {
				by.inputs(r, g, &t, read, used[:v], v == n-1)
			}
		}
		t.Call = callIn(g, c)
		g.Tasks = append(g.Tasks, t)
	}
	return g
}
