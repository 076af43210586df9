package workflow

import "slices"

// Events has what the tasks of a graph wait for. One counter for each component of its nodes says
// how many of the nodes that the component requires do not hold yet.
type Events struct {
	shape
	consumers lists   // by task: who reads or follows it
	of        []int32 // by node: its component
	nodes     lists   // by component
	lacks     []int32 // by component: how many required nodes of others do not hold, beyond those that it can do without
	needed    lists   // by node: the components that require it, once for each edge
	happened  []bool  // by node: an end or a checkpoint that has happened
	ready     []int   // tasks that may begin since the host asked last
}

// newEvents returns the events of a graph that refer to tasks in order. A cycle through the
// beginning of a task breaks the rule Settle.
func newEvents(s shape) (*Events, *CheckError) {
	e := &Events{shape: s}
	e.consumers = listsOf(len(s.Tasks), func(add func(list, item int)) {
		for v := range s.Tasks {
			for _, p := range s.parents(v) {
				add(int(p), v)
			}
		}
	})
	n := node(len(s.Tasks)) * kinds
	var count int
	e.of, count = components(int(n), func(v node, f func(node)) { s.requires(v, e.consumers, f) })
	e.nodes = listsOf(count, func(add func(list, item int)) {
		for v := range n {
			add(int(e.of[v]), int(v))
		}
	})
	for v := range s.Tasks {
		if b := at(v, begin); len(e.nodes.of(int(e.of[b]))) > 1 {
			return nil, e.cycle(b)
		}
	}
	e.needed = listsOf(int(n), func(add func(list, item int)) {
		e.lacks = make([]int32, count)
		for v := range n {
			c := e.of[v]
			if v.kind() == end || v.kind() == saved { // the host says so; it stays so when an ancestor is dropped
				e.lacks[c]++
				continue
			}
			s.requires(v, e.consumers, func(w node) {
				if e.of[w] != c {
					e.lacks[c]++
					add(int(w), int(c))
				}
			})
		}
		for v := range s.Tasks {
			e.lacks[e.of[at(v, begin)]] -= int32(s.spare(v))
		}
	})
	e.happened = make([]bool, n)
	var free []int32
	for c, lacks := range e.lacks {
		if lacks == 0 {
			free = append(free, int32(c))
		}
	}
	for _, c := range free {
		e.hold(c)
	}
	return e, nil
}

// May reports whether a task may begin.
func (e *Events) May(v int) bool {
	return e.lacks[e.of[at(v, begin)]] <= 0 && (e.spare(v) == 0 || e.follows(v))
}

// Settled reports whether no recovery changes or drops the output of a task any more.
func (e *Events) Settled(v int) bool { return e.lacks[e.of[at(v, settled)]] == 0 }

// Ready returns the tasks that may begin and could not when Ready was called before.
func (e *Events) Ready() []int {
	out := slices.DeleteFunc(e.ready, func(v int) bool { return !e.May(v) })
	e.ready = nil
	slices.Sort(out)
	return slices.Compact(out)
}

// Ended notes that a task has ended.
func (e *Events) Ended(v int) { e.happen(at(v, end)) }

// Saved notes that the checkpoint of a task, which has ended, is durable.
func (e *Events) Saved(v int) { e.happen(at(v, saved)) }

// Dropped takes back that a task has ended and is saved.
func (e *Events) Dropped(v int) {
	e.revoke(at(v, saved))
	e.revoke(at(v, end))
}

func (e *Events) happen(v node) {
	if !e.happened[v] {
		e.happened[v] = true
		e.met(e.of[v])
	}
}

func (e *Events) revoke(v node) {
	if e.happened[v] {
		e.happened[v] = false
		e.lack(e.of[v])
	}
}

// met notes that one thing holds which a component lacked, and what follows. A task that needs some of its inputs is
// ready again with each one more: of those before some may be lost.
func (e *Events) met(c int32) {
	if e.lacks[c]--; e.lacks[c] <= 0 {
		e.hold(c)
	}
}

// hold notes that all nodes of a component hold.
func (e *Events) hold(c int32) {
	for todo := []int32{c}; len(todo) > 0; {
		c := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, v := range e.nodes.of(int(c)) {
			if v := node(v); v.kind() == begin {
				e.ready = append(e.ready, v.task())
			}
			for _, d := range e.needed.of(int(v)) {
				if e.lacks[d]--; e.lacks[d] <= 0 {
					todo = append(todo, d)
				}
			}
		}
	}
}

// lack notes that something does not hold any more that a component requires, and what follows.
func (e *Events) lack(c int32) {
	for todo := []int32{c}; len(todo) > 0; {
		c := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if e.lacks[c]++; e.lacks[c] != 1 { // nothing else changes
			continue
		}
		for _, v := range e.nodes.of(int(c)) {
			todo = append(todo, e.needed.of(int(v))...)
		}
	}
}
