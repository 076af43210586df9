package workflow

import (
	"fmt"
	"slices"
	"strings"

	"github.com/phalanx-go/phalanx"
)

// Function names what a task runs: name@version.
type Function struct {
	Name    string
	Version int
}

// Reduces is what a member offers that combines arrays, and keeps what a caller has passed: no function of the application has an empty
// name.
var Reduces = Function{}

// String returns "name@version".
func (f Function) String() string {
	if f == Reduces {
		return "reduce"
	}
	return fmt.Sprintf("%s@%d", f.Name, f.Version)
}

// Work is a workflow as a client starts it: a graph, and what each task runs. Nobody changes it after Start.
type Work struct {
	Graph     *Graph
	Functions []Function       // of the graph, without repeats
	Calls     []int32          // by task: its function, in Functions
	Constants []phalanx.Digest // by task: of its constant arguments; nil: no task has any
	Digest    phalanx.Digest   // of the recorded form: equal for equal workflows
	Parts     [][]byte         // the recorded form, in pieces of at most MaxWrite; nil once it is in the ledger
	Of        any              // the host's: what its tasks run

	events *Events // of Check, until a run has them
}

// Check accepts a workflow, or returns a phalanx.ErrInvalid. It takes long for a large one: a host calls it before it gives
// the workflow to the Controller, where that holds up nobody. What was not checked the Controller checks.
func (w *Work) Check() (err error) {
	w.events, err = w.check()
	return err
}

// take returns what the tasks of a workflow that is accepted wait for. It belongs to the run that takes it.
func (w *Work) take() (e *Events, err error) {
	if w.events == nil {
		return w.check()
	}
	e, w.events = w.events, nil
	return e, nil
}

// check accepts a workflow, and returns what its tasks wait for; or it returns a phalanx.ErrInvalid.
func (w *Work) check() (*Events, error) {
	if err := w.complete(); err != nil {
		return nil, err
	}
	return Check(w.Graph)
}

// complete checks that a workflow has a function for each task of its graph, and is not too large.
func (w *Work) complete() error {
	for _, p := range w.Parts {
		if len(p) > MaxWrite {
			return invalid("a part of the workflow has %d bytes, more than %d", len(p), MaxWrite)
		}
	}
	switch {
	case w.Graph == nil:
		return invalid("there is no graph")
	case w.size() > MaxWork:
		return invalid("the workflow has %d bytes with its constants, more than %d: pass large constants as Refs", w.size(), MaxWork)
	case len(w.Calls) != len(w.Graph.Tasks) || w.Constants != nil && len(w.Constants) != len(w.Graph.Tasks):
		return invalid("%d tasks have %d functions and the constants of %d", len(w.Graph.Tasks), len(w.Calls), len(w.Constants))
	}
	for v, f := range w.Calls {
		if f < 0 || int(f) >= len(w.Functions) {
			return invalid("task %d runs function %d of %d", v, f, len(w.Functions))
		}
	}
	return nil
}

// size returns how many bytes the recorded form has.
func (w *Work) size() (n int) {
	for _, p := range w.Parts {
		n += len(p)
	}
	return n
}

// tooLarge says why a workflow that a task has returned is refused.
func tooLarge(w *Work) string {
	return fmt.Sprintf("it has returned a workflow of %d bytes, more than %d: pass large constants as Refs, or have tasks of it return workflows of their own", w.size(), MaxReturned)
}

// difference returns the first difference between two workflows under one id.
func (w *Work) difference(recorded *Work) string {
	for v := range min(len(w.Graph.Tasks), len(recorded.Graph.Tasks)) {
		a, b := &w.Graph.Tasks[v], &recorded.Graph.Tasks[v]
		name := shape{Graph: recorded.Graph}.name(v)
		switch {
		case a.Name != b.Name:
			return fmt.Sprintf("task %d is %q, and %q in the run", v, a.Name, b.Name)
		case w.function(v) != recorded.function(v):
			return fmt.Sprintf("%s runs %s, and %s in the run", name, w.function(v), recorded.function(v))
		case !slices.Equal(a.Reads, b.Reads):
			return fmt.Sprintf("%s reads tasks %v, and %v in the run", name, a.Reads, b.Reads)
		case !slices.Equal(a.After, b.After):
			return fmt.Sprintf("%s follows tasks %v, and %v in the run", name, a.After, b.After)
		case a.Deterministic != b.Deterministic || a.Checkpoint != b.Checkpoint || a.Effect != b.Effect || a.Compensates != b.Compensates || a.Caught != b.Caught,
			a.Retries != b.Retries, a.Needs != b.Needs, a.Limit != b.Limit, a.Event != b.Event, a.Sleep != b.Sleep, a.Expands != b.Expands, a.Actor != b.Actor, a.Snapshot != b.Snapshot, !slices.Equal(a.Writes, b.Writes):
			return name + " has other annotations than in the run"
		case w.constants(v) != recorded.constants(v):
			return name + " has other constants than in the run"
		}
	}
	if a, b := len(w.Graph.Tasks), len(recorded.Graph.Tasks); a != b {
		return fmt.Sprintf("it has %d tasks, and %d in the run", a, b)
	}
	return "it is recorded in other bytes than the run"
}

func (w *Work) function(v int) Function { return w.Functions[w.Calls[v]] }

func (w *Work) constants(v int) (d phalanx.Digest) {
	if w.Constants != nil {
		d = w.Constants[v]
	}
	return d
}

// CheckID accepts the id of a run: 1 to 256 bytes of UTF-8 without control characters.
func CheckID(id string) error {
	switch {
	case id == "":
		return invalid("the id of the run is empty")
	case len(id) > phalanx.MaxIDBytes:
		return invalid("the id of the run has %d bytes, more than %d", len(id), phalanx.MaxIDBytes)
	case strings.ToValidUTF8(id, "") != id:
		return invalid("the id of the run is not UTF-8")
	case strings.ContainsFunc(id, func(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 }):
		return invalid("the id %q has a control character", id)
	}
	return nil
}

func failure(kind phalanx.Kind, format string, args ...any) error {
	return &phalanx.Error{Op: "workflow", Kind: kind, Err: fmt.Errorf(format, args...)}
}

func invalid(format string, args ...any) error { return failure(phalanx.ErrInvalid, format, args...) }
