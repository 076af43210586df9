package workflow

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

var explored = flag.Int("workflow.explore", 300, "how many random graphs of each size to explore")

// set is a set of tasks.
type set uint8

func (s set) has(v int) bool { return s>>v&1 == 1 }
func one(v int) set          { return 1 << v }

// condition is a state of an execution.
type condition struct {
	done, live, saved set // ended, with an output in memory, with a checkpoint
	begun             set // effects that outsiders may have seen
	drops, changed    set // the recorded recovery set, and what of it gets other inputs
}

// explorer tries every order of beginning, ending, failing half-way, saving, losing and recovering one
// task after the other.
type explorer struct {
	shape
	waits          []set // what has to be saved before a task begins
	spends         []set // and what has to have ended beside its inputs
	before         []set // the readers of what it writes
	parents, under []set // and descendants
	rerun, after   bool  // a begun irreversible task was dropped for other inputs; one was below an undo
	inputs, stuck  bool  // inputs of an undo could not be had; an execution did not end
	seen           map[condition]bool
	todo           []condition
}

func explore(g *Graph, waits func(v int) []int) *explorer {
	x := newExplorer(g, waits)
	x.run()
	return x
}

func (x *explorer) run() {
	x.push(condition{})
	for len(x.todo) > 0 {
		c := x.todo[len(x.todo)-1]
		x.todo = x.todo[:len(x.todo)-1]
		x.expand(c)
	}
}

// spending has tasks wait until those without checkpoint have ended that have to be spent.
func (x *explorer) spending(e *Events) *explorer {
	for v := range x.Tasks {
		x.spends[v] = setOf(e.spends(v))
	}
	return x
}

// begins reports whether an attempt of a task may begin.
func (x *explorer) begins(v int, c condition) bool {
	return !c.done.has(v) && !c.drops.has(v) && x.has(v, c.available()) && x.waits[v]&^(c.saved&^c.drops) == 0 && x.spends[v]&^(c.done&^c.drops) == 0 && x.before[v]&^c.done == 0
}

func newExplorer(g *Graph, waits func(v int) []int) *explorer {
	x := &explorer{shape: shapeOf(g), seen: map[condition]bool{}}
	n := len(g.Tasks)
	x.waits, x.spends, x.parents, x.under, x.before = make([]set, n), make([]set, n), make([]set, n), make([]set, n), make([]set, n)
	for v := range n {
		if len(x.Tasks[v].Writes) > 0 {
			for _, r := range x.first.of(v) {
				x.before[v] |= one(int(r))
			}
		}
		for _, p := range x.shape.parents(v) {
			x.parents[v] |= one(int(p))
		}
		for _, w := range waits(v) {
			x.waits[v] |= one(w)
		}
	}
	for v := n - 1; v >= 0; v-- {
		for p := range v {
			if x.parents[v].has(p) {
				x.under[p] |= one(v) | x.under[v]
			}
		}
	}
	return x
}

func (x *explorer) bad() bool { return x.rerun || x.after || x.inputs || x.stuck }

func (x *explorer) push(c condition) {
	if !x.seen[c] {
		x.seen[c] = true
		x.todo = append(x.todo, c)
	}
}

// has reports whether a task has the inputs that it needs, of those that there are.
func (x *explorer) has(v int, there set) bool {
	t := &x.Tasks[v]
	if t.Needs == 0 {
		return x.parents[v]&^there == 0
	}
	n := 0
	for _, p := range t.Reads {
		n += int(there >> p & 1)
	}
	for _, p := range t.After {
		if !there.has(p) {
			return false
		}
	}
	return n >= int(t.Needs)
}

func (c condition) available() set { return c.done & (c.live | c.saved) &^ c.drops }

func (x *explorer) expand(c condition) {
	all := set(1)<<len(x.Tasks) - 1
	if c.drops != 0 {
		x.drop(c)
	}
	progress := c.drops != 0
	results := set(0)
	for v := range x.Tasks {
		b := one(v)
		if x.sink[v] {
			results |= b
		}
		if x.begins(v, c) {
			progress = true
			next := c
			for _, p := range x.Tasks[v].Writes {
				next.live &^= one(p)
			}
			if len(x.Tasks[v].Writes) > 0 {
				x.push(next) // it fails with the version
			}
			if x.Tasks[v].Effect != None || x.Tasks[v].Event != "" {
				next.begun |= b
				x.push(next) // it fails half-way
			}
			next.done |= b
			next.live |= b
			if x.Tasks[v].waits() {
				next.saved |= b
			}
			x.push(next)
		}
		if x.saves(v) && c.done&c.live&^c.saved&^c.drops&b != 0 {
			progress = true
			next := c
			next.saved |= b
			x.push(next)
		}
		if c.live&b != 0 {
			next := c
			next.live &^= b
			x.push(next)
		}
	}
	if c.done == all && results&^c.saved == 0 && c.drops == 0 {
		return
	}
	need := x.needed(c)
	for v := range x.Tasks {
		if need.has(v) {
			progress = true
			x.push(x.record(c, one(v)))
		}
	}
	if !progress {
		x.stuck = true
	}
}

// needed returns outputs that are needed, and are neither live nor saved.
func (x *explorer) needed(c condition) (need set) {
	there := c.available()
	for v := range x.Tasks {
		if c.done.has(v) && !c.drops.has(v) {
			if x.sink[v] && !there.has(v) {
				need |= one(v)
			}
			continue
		}
		inputs := x.parents[v]
		if x.Tasks[v].Needs > 0 && x.has(v, there) { // it can do without those that are lost
			inputs = 0
		}
		need |= (inputs | x.waits[v]) & c.done &^ there &^ c.drops
	}
	return need
}

// record adds to the recovery set of c what has to be made again to have some output (workflow specification 2.4).
func (x *explorer) record(c condition, want set) condition {
	drops, changed := want, set(0)
	for {
		before := drops
		for v := range x.Tasks {
			if !drops.has(v) {
				continue
			}
			drops |= x.parents[v] & c.done &^ (c.live | c.saved)
			if x.Tasks[v].differs() {
				changed |= x.under[v] & (c.done | c.begun)
				drops |= x.under[v] & (c.done | c.begun)
			}
		}
		if drops == before {
			break
		}
	}
	c.drops |= drops
	c.changed |= changed
	return c
}

// drop undoes and drops the last task of the recorded set.
func (x *explorer) drop(c condition) {
	v := len(x.Tasks) - 1
	for !c.drops.has(v) {
		v--
	}
	b := one(v)
	if c.begun.has(v) {
		switch t := &x.Tasks[v]; {
		case t.final():
			x.rerun = x.rerun || c.changed.has(v)
		case t.Effect == Undo:
			for w := range x.Tasks {
				x.after = x.after || x.under[v].has(w) && x.Tasks[w].final() && c.begun.has(w)
			}
			for p := range v {
				x.inputs = x.inputs || x.parents[v].has(p) && c.done&(c.live|c.saved)&one(p) == 0 && !x.remade(c, p)
			}
			c.begun &^= b
		}
	}
	c.done &^= b
	c.live &^= b
	c.saved &^= b
	c.drops &^= b
	c.changed &^= b
	x.push(c)
}

// remade reports whether an output can be had without running a source.
func (x *explorer) remade(c condition, v int) bool {
	if c.saved.has(v) {
		return true
	}
	if x.Tasks[v].source() {
		return false
	}
	for p := range v {
		if x.parents[v].has(p) && !x.remade(c, p) {
			return false
		}
	}
	return true
}

// kindOf returns a task by a number below 12.
func kindOf(k int) Task {
	t := Task{Deterministic: k&1 == 1, Effect: []Effect{None, Undo, Idempotent}[k>>2]}
	if k>>1&1 == 0 {
		t.Checkpoint = Off
	}
	return t
}

func allOfThree(f func(g *Graph)) {
	for edges := range 8 {
		for kinds := range 12 * 12 * 12 {
			g := &Graph{Tasks: []Task{kindOf(kinds % 12), kindOf(kinds / 12 % 12), kindOf(kinds / 144)}}
			k := 0
			for v := range 3 {
				for p := range v {
					if edges>>k&1 == 1 {
						g.Tasks[v].Reads = append(g.Tasks[v].Reads, p)
					}
					k++
				}
			}
			f(g)
		}
	}
}

func randomGraph(r *rand.Rand, n int) *Graph {
	g := &Graph{}
	for v := range n {
		t := kindOf(r.IntN(12))
		for p := range v {
			if r.IntN(2) == 0 {
				t.Reads = append(t.Reads, p)
			}
		}
		g.Tasks = append(g.Tasks, t)
	}
	return g
}

func (x *explorer) String() string {
	text := fmt.Sprintf("run again %v, undone above a commit %v, inputs of an undo lost %v, stuck %v:", x.rerun, x.after, x.inputs, x.stuck)
	for v := range x.Tasks {
		text += fmt.Sprintf("\n  %d %+v waits %b", v, x.Tasks[v], x.waits[v])
	}
	return text
}

// No graph that Check accepts has a bad execution.
func TestEveryGraphOfThreeTasks(t *testing.T) {
	graphs, accepted := 0, 0
	allOfThree(func(g *Graph) {
		graphs++
		e, err := Check(g)
		if err != nil {
			return
		}
		accepted++
		if x := explore(g, e.Waits); x.bad() {
			t.Fatal(x)
		}
	})
	if graphs != 13_824 {
		t.Errorf("%d graphs", graphs)
	}
	if accepted != 10_048 { // as many as by an explorer that was written for the specification
		t.Errorf("%d graphs are accepted", accepted)
	}
}

// The same for random graphs of four to six tasks.
func TestRandomGraphs(t *testing.T) {
	for n := 4; n <= 6; n++ {
		r := rand.New(rand.NewPCG(1, uint64(n)))
		accepted := 0
		for accepted < *explored {
			g := randomGraph(r, n)
			e, err := Check(g)
			if err != nil {
				continue
			}
			accepted++
			if x := explore(g, e.Waits); x.bad() {
				t.Fatal(x)
			}
		}
	}
}

// The same where one task waits for a signal or sleeps: no signal is dropped.
func TestRandomGraphsThatWait(t *testing.T) {
	for n := 3; n <= 5; n++ {
		r := rand.New(rand.NewPCG(2, uint64(n)))
		accepted := 0
		for accepted < *explored {
			g := randomGraph(r, n)
			wait(r, &g.Tasks[r.IntN(n)])
			e, err := Check(g)
			if err != nil {
				continue
			}
			accepted++
			if x := explore(g, e.Waits); x.bad() {
				t.Fatal(x)
			}
		}
	}
}

// wait makes a task wait for a signal, or sleep.
func wait(r *rand.Rand, t *Task) {
	t.Effect, t.Deterministic = None, false
	if r.IntN(3) == 0 {
		t.Sleep = time.Duration(1 + r.IntN(int(time.Second)))
	} else {
		t.Event = string(rune('a' + r.IntN(3)))
	}
}

// The explorer finds what is wrong without a rule (workflow specification 1).
func TestTheExplorerFindsWhatTheRulesPrevent(t *testing.T) {
	none := func(int) []int { return nil }
	for _, c := range []struct {
		graph string
		waits func(v int) []int
		bad   func(x *explorer) bool
	}{
		{"a nd,off; x! < a", none, func(x *explorer) bool { return x.rerun }},
		{"a nd,off; b < a; x! < b; w < a", func(v int) []int { return []int{1}[:max(0, v-1)*max(0, 3-v)] }, func(x *explorer) bool { return x.rerun }},
		{"a nd,off; ok event < a", none, func(x *explorer) bool { return x.rerun }},
		{"u u; x! < u", none, func(x *explorer) bool { return x.after }},
		{"a nd; v u < a", none, func(x *explorer) bool { return x.inputs }},
		{"u nd,off; u2 nd,off; b < u; x! < b; w < u u2; z < u2", func(v int) []int { // Settle without its closure
			if v == 3 {
				return []int{2, 4}
			}
			return nil
		}, func(x *explorer) bool { return x.rerun }},
	} {
		if x := explore(parse(t, c.graph), c.waits); !c.bad(x) {
			t.Errorf("%s: %v", c.graph, x)
		}
	}
}
