package workflow

import (
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// Waits says what a task waits for beside its inputs: the named tasks have to be saved before.
type Waits struct {
	Task string
	For  []string
}

// Check accepts a workflow and returns what its tasks wait for, or says how to mend it: the error is
// a *CheckError, or another phalanx.ErrInvalid. It starts nothing. Tasks that are only named are looked up in registries.
func Check(root AnyStep, tasks ...*Registry) ([]Waits, error) {
	g, err := recorded(root.node(), merged(tasks))
	if err != nil {
		return nil, err
	}
	graph, err := lower(g)
	if err != nil {
		return nil, err
	}
	e, err := core.Check(graph)
	if err != nil {
		return nil, err
	}
	var all []Waits
	for v, t := range graph.Tasks {
		w := Waits{Task: t.Name}
		for _, u := range e.Waits(v) {
			w.For = append(w.For, graph.Tasks[u].Name)
		}
		if w.For != nil {
			all = append(all, w)
		}
	}
	return all, nil
}

// merged returns a registry of all tasks of several; of one name the first counts.
func merged(all []*Registry) *Registry {
	if len(all) == 1 {
		return all[0]
	}
	out := Tasks()
	for _, r := range all {
		if r == nil {
			continue
		}
		for name, t := range r.tasks {
			if out.tasks[name] == nil {
				out.tasks[name] = t
			}
		}
	}
	return out
}

// CheckError says why a workflow is refused, along which tasks, and every way to mend it.
type CheckError = core.CheckError
