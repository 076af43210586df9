package workflow

import (
	"slices"
	"strings"
)

// scope is a graph that is executed: the run's, or one that a task has returned. Its tasks have their numbers in the
// run one after the other.
type scope struct {
	*Events
	owner int   // the task that has returned it; -1: it is the run's graph
	work  any   // of the host: Expanded.Work
	base  int   // the number of its first task
	up    lists // parents, by number
	down  lists // consumers
	open  int   // tasks with a checkpoint that is not saved, and tasks without that have not ended
	rest  int   // tasks that have not ended
}

// span are numbers of tasks: those of the last expansion of a task without checkpoint, which the next one uses if they
// are enough. MaxTasks bounds all numbers that a run has ever used.
type span struct{ first, size int }

func newScope(e *Events, owner, base int) *scope {
	s := &scope{Events: e, owner: owner, base: base, up: e.edges.plus(base), down: e.consumers.plus(base)}
	s.open, s.rest = len(e.Tasks), len(e.Tasks)
	return s
}

// parents and consumers return those of a task of the scope, as numbers of the run.
func (s *scope) parents(l int) []int32   { return s.up.of(l) }
func (s *scope) consumers(l int) []int32 { return s.down.of(l) }

// result returns the task whose output is that of the task that has returned the graph.
func (s *scope) result() int { return s.base + len(s.Tasks) - 1 }

// isResult reports whether the output of v is that of the task that has returned the graph.
func (s *scope) isResult(v int) bool { return s.owner >= 0 && v == s.result() }

// scope returns the scope of a task; nil: its expansion was dropped.
func (x *Execution) scope(v int) *scope {
	if x.home[v] == none {
		return nil
	}
	return x.scopes[x.home[v]]
}

const none = -1

// noTask stands for a task of an expansion that was dropped.
var noTask Task

func (x *Execution) parents(v int) []int32 {
	return x.scope(v).parents(int(x.local[v]))
}

func (x *Execution) saves(v int) bool    { return x.scope(v).saves(int(x.local[v])) }
func (x *Execution) final(v int) bool    { return x.scope(v).final(int(x.local[v])) }
func (x *Execution) grows(v int) bool    { return x.scope(v).grows(int(x.local[v])) }
func (x *Execution) expanded(v int) bool { return x.inner[v] != nil }

// name returns the name of a task: for one of an expansion, a path.
func (x *Execution) name(v int) string {
	s := x.scope(v)
	if s == nil {
		return "a task that was dropped"
	}
	path := []string{s.name(int(x.local[v]))}
	for s.owner >= 0 {
		v, s = s.owner, x.scope(s.owner)
		path = append(path, s.name(int(x.local[v])))
	}
	slices.Reverse(path)
	return strings.Join(path, "/")
}

// maker returns the task that makes the output of v: v itself, or the result of its expansion.
func (x *Execution) maker(v int) int {
	for s := x.inner[v]; s != nil; s = x.inner[v] {
		v = s.result()
	}
	return v
}

// extend has numbers for n tasks more.
func (x *Execution) extend(n int) {
	x.sink = append(x.sink, make([]bool, n)...)
	x.facts = append(x.facts, make([]fact, n)...)
	x.local = append(x.local, make([]int32, n)...)
	for range n {
		x.Tasks, x.home = append(x.Tasks, &noTask), append(x.home, none)
	}
}

// reserve returns the number of the first of n tasks that v returns.
func (x *Execution) reserve(v, n int) (first int) {
	if have, ok := x.spans[v]; ok && have.size >= n {
		return have.first
	}
	first = len(x.Tasks)
	x.claim(v, first, n)
	return first
}

// claim has numbers that a reserve has returned.
func (x *Execution) claim(v, first, n int) {
	if more := first + n - len(x.Tasks); more > 0 {
		x.extend(more)
	}
	if x.spans[v].size < n {
		x.spans[v] = span{first, n}
	}
}

// enter has the tasks of a scope in the run.
func (x *Execution) enter(s *scope) {
	id := int32(len(x.scopes))
	if n := len(x.free); n > 0 {
		id, x.free = x.free[n-1], x.free[:n-1]
		x.scopes[id] = s
	} else {
		x.scopes = append(x.scopes, s)
	}
	for l := range s.Tasks {
		v := s.base + l
		x.Tasks[v], x.home[v], x.local[v], x.facts[v] = &s.Tasks[l], id, int32(l), 0
		x.sink[v] = s.owner < 0 && s.sink[l]
	}
	x.left += len(s.Tasks)
	if s.owner >= 0 {
		x.inner[s.owner] = s
	}
	x.order = nil
	x.stir(s)
}

// leave has the tasks of a scope in the run no more. None of them counts.
func (x *Execution) leave(s *scope) {
	id := x.home[s.base]
	x.scopes[id], x.free = nil, append(x.free, id)
	for l := range s.Tasks {
		v := s.base + l
		x.Tasks[v], x.facts[v], x.home[v] = &noTask, 0, none
	}
	x.left -= len(s.Tasks)
	if x.saves(s.owner) { // outsiders may have seen effects: other tasks must not have their keys
		delete(x.spans, s.owner)
	}
	delete(x.inner, s.owner)
	x.order = nil
}

// stir notes that tasks of a scope may begin, perhaps.
func (x *Execution) stir(s *scope) {
	if len(s.ready) > 0 {
		x.stirred = append(x.stirred, s)
	}
}

// Ready returns the tasks that may begin and could not when Ready was called before.
func (x *Execution) Ready() (all []int) {
	for _, s := range x.stirred {
		for _, l := range s.Ready() {
			if v := s.base + l; x.scope(v) == s {
				all = append(all, v)
			}
		}
	}
	x.stirred = nil
	return all
}

// end has the end of a task happen. A task that has returned a graph has ended once all tasks of the graph have: one that
// is being made again may read what the task has read.
func (x *Execution) end(v int) { x.turn(v, end, true) }

// unend takes that back.
func (x *Execution) unend(v int) { x.turn(v, end, false) }

// save has the checkpoint of a task happen, or takes that back.
func (x *Execution) save(v int, is bool) { x.turn(v, saved, is) }

// turn has an event of a task happen, or takes it back, and so for the tasks above whose graphs it is of.
func (x *Execution) turn(v int, kind node, is bool) {
	for {
		s := x.scope(v)
		n := at(int(x.local[v]), kind)
		if s.happened[n] == is {
			return
		}
		if is {
			s.happen(n)
			x.stir(s)
		} else {
			s.revoke(n)
		}
		counts := saved
		if !s.saves(int(x.local[v])) {
			counts = end
		}
		if kind == counts {
			x.count(s, is)
		}
		if kind != end || s.owner < 0 {
			return
		}
		had := s.rest == 0
		if is {
			s.rest--
		} else {
			s.rest++
		}
		if had == (s.rest == 0) {
			return
		}
		v = s.owner
		if is {
			x.learn(v, x.facts[v]|ended)
		} else {
			x.learn(v, x.facts[v]&^ended)
		}
	}
}

// count notes that a task counts for what is above its graph, or does so no more. A task that has returned a graph
// counts as saved when every checkpoint of the graph is, and no task of it is being made again: its undo must
// not run after what waits for the checkpoint.
func (x *Execution) count(s *scope, is bool) {
	for {
		if is {
			s.open--
		} else {
			s.open++
		}
		if s.owner < 0 || !x.saves(s.owner) {
			return
		}
		v := s.owner
		all := s.open == 0
		s = x.scope(v)
		n := at(int(x.local[v]), saved)
		if s.happened[n] == all {
			return
		}
		is = all
		if is {
			s.happen(n)
			x.stir(s)
		} else {
			s.revoke(n)
		}
	}
}

// mirror has the task that has returned a graph know where its output is: that of the graph's result.
func (x *Execution) mirror(v int) {
	const where = live | durable
	for s := x.scope(v); s.isResult(v); s = x.scope(v) {
		f := x.facts[v] & where
		v = s.owner
		if x.facts[v]&where == f {
			return
		}
		x.learn(v, x.facts[v]&^where|f)
	}
}

// ranks returns the order of the tasks: those of an expansion come behind the task that has returned it, and before
// what comes after that.
func (x *Execution) ranks() []int32 {
	if x.order != nil {
		return x.order
	}
	x.order = make([]int32, len(x.Tasks))
	type place struct {
		s *scope
		l int
	}
	next := int32(0)
	for todo := []place{{x.scopes[0], 0}}; len(todo) > 0; {
		top := &todo[len(todo)-1]
		if top.l == len(top.s.Tasks) {
			todo = todo[:len(todo)-1]
			continue
		}
		v := top.s.base + top.l
		top.l++
		x.order[v] = next
		next++
		if in := x.inner[v]; in != nil {
			todo = append(todo, place{in, 0})
		}
	}
	return x.order
}

// line returns the tasks in order.
func (x *Execution) line() []int {
	all := make([]int, 0, len(x.Tasks))
	for v := range x.Tasks {
		if x.scope(v) != nil {
			all = append(all, v)
		}
	}
	x.sort(all)
	return all
}

// sort puts tasks in order.
func (x *Execution) sort(all []int) {
	ranks := x.ranks()
	slices.SortFunc(all, func(a, b int) int { return int(ranks[a]) - int(ranks[b]) })
}
