package workflow

import (
	"fmt"

	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// plan is a workflow as the cores know it, with the step of each task.
type plan struct {
	graph core.Graph
	steps []*node
}

// planOf lists the steps that a root needs, each after those that it needs itself. Steps are
// numbered in the order in which the root's arguments lead to them.
func planOf(root *node) *plan {
	p := &plan{}
	index := map[*node]int{}
	uses := map[string]int{}
	type visit struct {
		n    *node
		next []*node // that n needs and are not visited yet
	}
	stack := []visit{{root, root.needs()}}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if len(top.next) > 0 {
			n := top.next[0]
			top.next = top.next[1:]
			if _, known := index[n]; !known {
				stack = append(stack, visit{n, n.needs()})
			}
			continue
		}
		n := top.n
		stack = stack[:len(stack)-1]
		if _, known := index[n]; known { // by another way meanwhile
			continue
		}
		index[n] = len(p.steps)
		p.steps = append(p.steps, n)
		name := n.task.name
		if uses[name]++; uses[name] > 1 {
			name = fmt.Sprintf("%s#%d", name, uses[name])
		}
		p.graph.Tasks = append(p.graph.Tasks, n.toCore(name, index))
	}
	return p
}

// needs returns the steps that n reads or follows, with repeats.
func (n *node) needs() (all []*node) {
	for _, in := range n.in {
		in.steps(func(s *node) { all = append(all, s) })
	}
	return append(all, n.after...)
}

// steps calls f with each step of an argument.
func (in input) steps(f func(*node)) {
	if in.step != nil {
		f(in.step)
	}
	for _, i := range in.all {
		i.steps(f)
	}
}

func (n *node) toCore(name string, index map[*node]int) core.Task {
	p := n.task.promise
	t := core.Task{Name: name, Deterministic: p.deterministic, Checkpoint: p.checkpoint, Effect: p.effect}
	reads := map[int]bool{}
	for _, in := range n.in {
		in.steps(func(s *node) {
			if v := index[s]; !reads[v] {
				reads[v] = true
				t.Reads = append(t.Reads, v)
			}
		})
	}
	for _, s := range n.after {
		if v := index[s]; !reads[v] {
			reads[v] = true
			t.After = append(t.After, v)
		}
	}
	return t
}

// Waits says what a task waits for beside its inputs: the named tasks have to be saved before.
type Waits struct {
	Task string
	For  []string
}

// Check accepts a workflow and returns what its tasks wait for, or says how to mend it: the error is
// a *CheckError, a phalanx.ErrInvalid. It starts nothing.
func Check(root AnyStep) ([]Waits, error) {
	p := planOf(root.node())
	e, err := core.Check(&p.graph)
	if err != nil {
		return nil, err
	}
	var all []Waits
	for v, t := range p.graph.Tasks {
		w := Waits{Task: t.Name}
		for _, u := range e.Waits(v) {
			w.For = append(w.For, p.graph.Tasks[u].Name)
		}
		if w.For != nil {
			all = append(all, w)
		}
	}
	return all, nil
}

// CheckError says why a workflow is refused, along which tasks, and every way to mend it.
type CheckError = core.CheckError
