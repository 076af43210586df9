package workflow

import (
	"fmt"
	"slices"
)

// cut refuses a task with an effect below an output that can come out differently and is not saved
// (invariants 3.1 and 3.2 of the thesis, widened to tasks with an undo). Such an output is lost with its
// node. Made again it would differ, while the effect stays.
func (s shape) cut() *CheckError {
	from := make([]int, len(s.Tasks)) // the parent by which a task is tainted; -1: it is not
	for v := range s.Tasks {
		from[v] = -1
		for _, p := range s.parents(v) {
			p := int(p)
			if !s.saves(p) && (s.source(p) || from[p] >= 0) {
				from[v] = p
				break
			}
		}
		if from[v] >= 0 && s.Tasks[v].acts() {
			return s.cutAt(v, from)
		}
	}
	return nil
}

func (s shape) cutAt(v int, from []int) *CheckError {
	path := []int{v}
	for p := from[v]; ; p = from[p] {
		path = append(path, p)
		if s.source(p) && !s.saves(p) {
			break
		}
	}
	slices.Reverse(path)
	source := path[0]
	why := fmt.Sprintf("%s has an effect, and depends on %s, which has no checkpoint and %s", s.name(v), s.name(source), s.changes(source))
	w := ways{checkpoint: path[:len(path)-1], noEffect: []int{v}}
	w.calm(s, source)
	return &CheckError{Rule: Cut, Path: s.names(path), Why: why, Fix: w.text(s)}
}

// changes says why the output of a source can come out differently.
func (s shape) changes(v int) string {
	if s.Tasks[v].Effect == Undo {
		return "can be undone"
	}
	return "is not deterministic"
}
