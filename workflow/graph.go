package workflow

import (
	"context"
	"fmt"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// MaxGraph is how many tasks Graph describes.
const MaxGraph = 100_000

// Graph describes a run with how its tasks stand: those of its workflow, and of the workflows that tasks have returned so far.
// Numbers in it are indexes of Description.Tasks. What it says may be a second old. A run with more tasks
// than MaxGraph is ErrInvalid: StatusOf counts its tasks.
func Graph(ctx context.Context, n *cluster.Node, id string) (*Description, error) {
	const op = "graph"
	a, err := call(ctx, n, op, id, &asked{call: core.GetStatus{ID: id, Tasks: true}})
	if err != nil {
		return nil, err
	}
	if a.Status == nil {
		return nil, failure(op, id, phalanx.ErrInternal, fmt.Errorf("the controller has answered without a status"))
	}
	most := func(k int) error {
		if k > MaxGraph {
			return failure(op, id, phalanx.ErrInvalid, fmt.Errorf("the run has %d tasks, more than the %d that are described: its status counts them", k, MaxGraph))
		}
		return nil
	}
	if err := most(a.Status.Tasks); err != nil {
		return nil, err
	}
	s, err := storyOf(ctx, n, op, id)
	if err != nil {
		return nil, err
	}
	if err := s.read(ctx, func(told) error { return most(len(s.tasks)) }); err != nil {
		return nil, named(op, id, err)
	}
	for v := range s.tasks {
		s.stands(v)
	}
	for _, w := range a.Status.Work {
		if w.Task < len(s.tasks) {
			s.works(w)
		}
	}
	return s.description(), nil
}

// stands says how a task stands, as is recorded.
func (s *story) stands(v int) {
	t, p := &s.tasks[v], s.progress.Tasks[v]
	t.State, t.Attempts = s.stage(v).String(), p.Attempts
	if p.Caught != "" {
		t.State, t.Why = "caught", p.Caught
	}
	if p.Stage == core.Underway && s.progress.Over {
		t.State = "stopped" // without an output
	}
	if p.Stage == core.Unbegun && (s.progress.Cause != "" || s.progress.Over) {
		t.State = "not begun" // and never does
	} else if p.Stage == core.Unbegun && t.Needs > 0 {
		t.Why = fmt.Sprintf("it has %d of the %d inputs that it needs", min(s.has(t.Reads), t.Needs), t.Needs)
	}
}

// has returns how many of some tasks have ended.
func (s *story) has(all []int) (n int) {
	for _, v := range all {
		if stage := s.stage(v); stage == core.Done || stage == core.Secured {
			n++
		}
	}
	return n
}

// stage returns the stage of a task; one that has returned a graph ends with it.
func (s *story) stage(v int) core.Stage {
	stage := s.progress.Tasks[v].Stage
	first, end, is := s.progress.Inner(v)
	if !is || stage != core.Expanding {
		return stage
	}
	least := core.Secured
	for w := first; w < end; w++ {
		switch s.stage(w) {
		case core.Secured:
		case core.Done:
			least = core.Done
		default:
			return core.Expanding
		}
	}
	return least
}

// works says what a controller does about a task.
func (s *story) works(w core.AtWork) {
	t := &s.tasks[w.Task]
	switch {
	case w.Node != "":
		t.State = [...]string{core.Do: "running", core.TakeBack: "is undone", core.MakeUp: "is compensated", core.Remake: "made again"}[w.Kind]
		t.Node = string(w.Node)
		if w.Kind == core.Do {
			t.Attempts = max(t.Attempts, w.Failed+1) // a task without effect runs before that is recorded
		}
	case w.Stuck:
		t.State = "stuck"
	case w.Ready:
		t.State = "waits for a slot"
	case w.Failed > 0 && s.progress.Tasks[w.Task].Stage == core.Underway:
		t.State = "failed, comes again"
	}
	if w.Why != "" {
		t.Why = w.Why
	}
}

// description leaves away the tasks of graphs that do not count any more, and numbers the others.
func (s *story) description() *Description {
	d := &Description{Tasks: []TaskDescription{}}
	at := make([]int, len(s.tasks))
	for v, t := range s.tasks {
		at[v] = len(d.Tasks)
		if t.Name != "" && s.progress.Tasks[v].Stage != core.Void {
			d.Tasks = append(d.Tasks, t)
		}
	}
	for i := range d.Tasks {
		t := &d.Tasks[i]
		for _, list := range [][]int{t.Reads, t.ReadOnly, t.Catches, t.After, t.Waits} {
			for j, v := range list {
				list[j] = at[v]
			}
		}
		if t.Of != nil {
			of := at[*t.Of]
			t.Of = &of
		}
	}
	return d
}
