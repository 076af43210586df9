package workflow

import "slices"

// Waits returns the tasks that have to be saved before v begins, in order, beside its parents that
// have to end: Check's waits. It takes time in the size of the graph.
func (e *Events) Waits(v int) []int {
	seen := map[node]bool{}
	var out []int
	todo := []node{at(v, begin)}
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[n] || n.kind() == end {
			continue
		}
		seen[n] = true
		if n.kind() == saved {
			out = append(out, n.task())
			continue
		}
		e.requires(n, e.consumers, func(w node) { todo = append(todo, w) })
	}
	slices.Sort(out)
	return out
}
