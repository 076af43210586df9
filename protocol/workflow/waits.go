package workflow

import "slices"

// Waits returns the tasks that have to be saved before v begins, in order, beside its parents that
// have to end: Check's waits. It takes time in the size of the graph.
func (e *Events) Waits(v int) []int {
	var out []int
	e.follow(v, func(n node) {
		if n.kind() == saved {
			out = append(out, n.task())
		}
	})
	slices.Sort(out)
	return out
}

// follow calls f with each node that v requires to begin.
func (e *Events) follow(v int, f func(node)) {
	seen := map[node]bool{}
	todo := []node{at(v, begin)}
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[n] {
			continue
		}
		seen[n] = true
		f(n)
		if n == at(v, begin) && e.spare(v) > 0 { // it can do without any one of its inputs
			for _, p := range e.Tasks[v].After {
				todo = append(todo, e.counts(p))
			}
			continue
		}
		if n.kind() != end && n.kind() != saved {
			e.requires(n, e.consumers, func(w node) { todo = append(todo, w) })
		}
	}
}
