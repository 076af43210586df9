package workflow

import "fmt"

// CheckExpansion accepts a graph that a task of a run has returned, or returns a *CheckError. saved says whether the
// task has a checkpoint (workflow specification 1.5).
func CheckExpansion(parent *Task, saved bool, g *Graph) (*Events, error) {
	if err := g.wellFormed(); err != nil {
		return nil, err
	}
	s := shapeOf(g)
	s.loose = !saved
	if err := s.expansionOf(parent); err != nil {
		return nil, err
	}
	return check(s)
}

// expansionOf checks what a graph has to be for the sake of the task that has returned it.
func (s shape) expansionOf(parent *Task) *CheckError {
	last := len(s.Tasks) - 1
	refuse := func(v int, why, fix string) *CheckError {
		return &CheckError{Rule: Expand, Path: []string{s.name(v)}, Why: why, Fix: fix}
	}
	for v := range s.Tasks {
		t, name := &s.Tasks[v], s.name(v)
		switch {
		case !parent.Expands:
			return refuse(v, parent.Name+" returns a graph, and is not declared to", "declare that it expands")
		case s.sink[v] != (v == last):
			return refuse(v, fmt.Sprintf("the graph that %s returns has several results, as nobody reads %s", parent.Name, name), "return one task that reads, or comes after, all others")
		case v == last && t.Actor:
			return refuse(v, fmt.Sprintf("the result %s of the graph that %s returns holds an actor", name, parent.Name), "have a task of the graph read it")
		case parent.Deterministic && t.varies() != "":
			return refuse(v, fmt.Sprintf("%s is declared Deterministic, and returns %s, whose output %s", parent.Name, name, t.varies()),
				fmt.Sprintf("do not declare %s Deterministic", parent.Name))
		case parent.Deterministic && t.differs():
			return refuse(v, fmt.Sprintf("%s is declared Deterministic, and returns %s, which is not", parent.Name, name),
				fmt.Sprintf("declare %s Deterministic if that is so, or do not declare %s Deterministic", name, parent.Name))
		case s.loose && t.waits():
			return refuse(v, fmt.Sprintf("%s has no checkpoint, and returns %s, which waits", parent.Name, name), "checkpoint "+parent.Name)
		case s.loose && t.acts():
			return refuse(v, fmt.Sprintf("%s has no checkpoint, and returns %s, which has an effect", parent.Name, name),
				fmt.Sprintf("checkpoint %s, or declare %s NoEffect", parent.Name, name))
		case s.loose && s.saves(v):
			return refuse(v, fmt.Sprintf("%s has no checkpoint, and returns %s, which has one", parent.Name, name),
				fmt.Sprintf("checkpoint %s, or give %s none", parent.Name, name))
		}
	}
	return nil
}

// expanding checks the tasks that return graphs: what they do themselves cannot be taken back by what is theirs alone.
func (s shape) expanding() *CheckError {
	for v := range s.Tasks {
		t := &s.Tasks[v]
		why := ""
		switch {
		case !t.Expands:
			continue
		case t.waits():
			why = "waits"
		case t.Effect == Undo:
			why = "has an undo"
		case t.Compensates:
			why = "has a compensation"
		case t.Caught:
			why = "has its error caught"
		default:
			continue
		}
		return &CheckError{Rule: Expand, Path: []string{s.name(v)}, Why: s.name(v) + " returns a graph, and " + why,
			Fix: "leave that to a task of the graph, or to one beside " + s.name(v)}
	}
	return nil
}
