package workflow

import "fmt"

// MaxTasks is the largest number of tasks of a graph.
const MaxTasks = 1_000_000

// Check accepts a graph, and returns what its tasks wait for; or it returns a *CheckError.
// The time that Check takes grows with the tasks and edges only.
func Check(g *Graph) (*Events, error) {
	if err := g.wellFormed(); err != nil {
		return nil, err
	}
	return check(shapeOf(g))
}

func check(s shape) (*Events, error) {
	for _, rule := range []func() *CheckError{s.waiting, s.needing, s.expanding, s.actors, s.deterministic, s.catches, s.compensations, s.cut} {
		if err := rule(); err != nil {
			return nil, err
		}
	}
	e, err := newEvents(s)
	if err != nil {
		return nil, err
	}
	return e, nil
}

// wellFormed checks what the other checks rely on.
func (g *Graph) wellFormed() error {
	switch {
	case len(g.Tasks) == 0:
		return &CheckError{Rule: Shape, Why: "the workflow has no task", Fix: "bind at least one"}
	case len(g.Tasks) > MaxTasks:
		return &CheckError{Rule: Shape, Why: fmt.Sprintf("the workflow has %d tasks, more than %d", len(g.Tasks), MaxTasks),
			Fix: "have tasks return workflows of their own"}
	}
	for v := range g.Tasks {
		if by := g.Tasks[v].Limit; by.Name == "" && by.Most != 0 || by.Name != "" && by.Most <= 0 || len(by.Name) > maxLimitName {
			return &CheckError{Rule: Shape, Path: []string{g.Tasks[v].Name}, Why: fmt.Sprintf("task %d has the limit %d of a name of %d bytes", v, by.Most, len(by.Name)),
				Fix: fmt.Sprintf("give the limit a name of up to %d bytes, and a positive number", maxLimitName)}
		}
		for _, all := range [][]int{g.Tasks[v].Reads, g.Tasks[v].After} {
			for _, p := range all {
				if p < 0 || p >= v {
					return &CheckError{Rule: Shape, Path: []string{g.Tasks[v].Name}, Why: fmt.Sprintf("task %d reads or follows task %d, which does not come before it", v, p),
						Fix: "put each task behind those that it reads or follows"}
				}
			}
		}
	}
	return nil
}

// waiting checks what does not run on a node.
func (s shape) waiting() *CheckError {
	for v := range s.Tasks {
		t := &s.Tasks[v]
		refuse := func(why, fix string) *CheckError {
			return &CheckError{Rule: Shape, Path: []string{s.name(v)}, Why: s.name(v) + " " + why, Fix: fix}
		}
		switch {
		case !t.waits():
		case t.Event != "" && t.Sleep != 0:
			return refuse("waits for a signal and sleeps", "have a task for each")
		case t.Sleep < 0 || t.Sleep > MaxSleep:
			return refuse(fmt.Sprintf("sleeps %v", t.Sleep), fmt.Sprintf("sleep for %v at most", MaxSleep))
		case len(t.Event) > MaxSignalName:
			return refuse(fmt.Sprintf("waits for a signal whose name has %d bytes", len(t.Event)), fmt.Sprintf("give it %d at most", MaxSignalName))
		case t.Limit != Limit{}:
			return refuse("waits, and has a limit", "give that to a task behind it")
		case t.acts() || t.Compensates || t.Caught:
			return refuse("waits, and has an effect, a compensation or an error that is caught", "leave that to a task behind it")
		}
	}
	return nil
}

// deterministic checks that no task promises the same bytes whose output cannot be the same each time (specification,
// Checks: Deterministic).
func (s shape) deterministic() *CheckError {
	for v := range s.Tasks {
		if why := s.Tasks[v].varies(); s.Tasks[v].Deterministic && why != "" {
			return &CheckError{Rule: Deterministic, Path: []string{s.name(v)}, Why: s.name(v) + " is declared Deterministic, and its output " + why,
				Fix: "do not declare " + s.name(v) + " Deterministic"}
		}
	}
	return nil
}

// compensations checks that the output of a task is there when its compensation needs it: one with an effect that
// nothing else takes back returns it again under its key, and one with an undo cannot run again. A task without an effect
// has no key, and its repeat could make other bytes under the id of the first.
func (s shape) compensations() *CheckError {
	for v := range s.Tasks {
		t, name := &s.Tasks[v], s.name(v)
		refuse := func(why, fix string) *CheckError {
			return &CheckError{Rule: Compensate, Path: []string{name}, Why: name + " " + why, Fix: fix}
		}
		switch {
		case !t.Compensates:
		case t.Effect == None:
			return refuse("has a compensation and no effect: there is nothing to make up for", "do not declare "+name+" NoEffect, or leave its Compensate away")
		case t.Effect == Undo && !s.saves(v):
			return refuse("has an undo, and a compensation that needs its output, which is not saved", s.toSave(v)+", or give it either an undo or a compensation")
		}
	}
	return nil
}

// catches checks that an error that a consumer takes is saved (workflow specification 1.10).
func (s shape) catches() *CheckError {
	for v := range s.Tasks {
		if s.Tasks[v].Caught && !s.saves(v) {
			return &CheckError{Rule: Catch, Path: []string{s.name(v)}, Why: "the error of " + s.name(v) + " is caught and not saved, so that another attempt could end well",
				Fix: s.toSave(v)}
		}
	}
	return nil
}
