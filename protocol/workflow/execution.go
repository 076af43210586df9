package workflow

import (
	"fmt"
	"slices"
)

// Execution has what is known of the tasks of a run, and decides what is made again when outputs are
// lost (workflow specification 2.4). The tasks of expansions come after those of the graph: a number names a task.
//
// Invariant: what is in the recovery set has happened for Events no more.
type Execution struct {
	Tasks   []*Task // by number, in the graph that has it
	sink    []bool  // results of the run
	facts   []fact
	home    []int32        // the scope that a task is in; none: its expansion was dropped
	local   []int32        // its number there
	scopes  []*scope       // 0: the run's graph; nil: dropped
	free    []int32        // of these
	inner   map[int]*scope // the expansions, by their tasks
	spans   map[int]span   // numbers that a task may use for an expansion
	stirred []*scope       // tasks of them may begin, perhaps
	order   []int32        // of the tasks, as they may run one by one; nil: unknown
	set     []int          // the recovery set that is recorded and not dropped yet, in order
	left    int            // how many tasks have yet to end, or to save their result
}

// fact is what is known of the present generation of a task.
type fact uint8

const (
	begun   fact = 1 << iota // outsiders may have seen an effect
	ended                    // an attempt that counts has ended
	live                     // the output is in the memory of some node
	durable                  // the checkpoint is saved
	drops                    // the task is in the recovery set
	waived                   // and what nothing takes back counts as not begun then: the loss was accepted
	moved                    // an attempt has the versions that it writes
)

// NewExecution returns an execution in which nothing has begun.
func NewExecution(e *Events) *Execution {
	x := &Execution{inner: map[int]*scope{}, spans: map[int]span{}}
	x.extend(len(e.Tasks))
	x.enter(newScope(e, -1, 0))
	return x
}

// learn sets the facts of a task.
func (x *Execution) learn(v int, f fact) {
	switch before := x.finished(v, x.facts[v]); {
	case !before && x.finished(v, f):
		x.left--
	case before && !x.finished(v, f):
		x.left++
	}
	x.facts[v] = f
}

func (x *Execution) finished(v int, f fact) bool {
	return f&(ended|drops) == ended && (f&durable != 0 || !x.sink[v])
}

// Over reports whether all tasks have ended, and all results are saved.
func (x *Execution) Over() bool { return x.left == 0 }

// Begun notes that an attempt begins. It panics if the task must not begin.
func (x *Execution) Begun(v int) {
	if !x.MayBegin(v) {
		panic(fmt.Sprintf("%s begins, and must not", x.name(v)))
	}
	x.learn(v, x.facts[v]|begun)
	x.move(v)
}

// MayBegin reports whether an attempt of a task may begin: it has all it waits for and its inputs are
// to be had. A task in the recovery set begins after it was dropped.
func (x *Execution) MayBegin(v int) bool {
	s := x.scope(v)
	if s == nil || x.facts[v]&(ended|drops) != 0 || x.inner[v] != nil || !s.May(int(x.local[v])) && !x.waitless(v) {
		return false
	}
	if s.owner >= 0 && x.facts[s.owner]&drops != 0 { // the expansion is dropped soon
		return false
	}
	if s.spare(int(x.local[v])) > 0 {
		return x.enough(v)
	}
	return !slices.ContainsFunc(x.parents(v), func(p int32) bool { return !x.available(int(p)) })
}

// waitless reports whether a task needs its inputs only: it waited before it began, and a checkpoint that is lost since
// changes nothing. A writer waits for readers and snapshots each time.
func (x *Execution) waitless(v int) bool { return x.repeated(v) && len(x.Tasks[v].Writes) == 0 }

// repeated reports whether a task has begun and only repeats what it did.
func (x *Execution) repeated(v int) bool {
	return x.final(v) && x.facts[v]&(begun|waived) == begun
}

// available reports whether an output counts, and can be had.
func (x *Execution) available(v int) bool {
	return x.facts[v]&ended != 0 && x.facts[v]&drops == 0 && x.there(v)
}

// there reports whether an output can be had, also one that does not count any more.
func (x *Execution) there(v int) bool { return x.facts[v]&(live|durable) != 0 }

// Ended notes that an attempt has ended well, and that its output is there.
func (x *Execution) Ended(v int) {
	x.learn(v, x.facts[v]&^moved|begun|ended|live)
	x.end(v)
	x.mirror(v)
}

// Saved notes that the checkpoint of a task is durable. That of a task in the recovery set is void.
func (x *Execution) Saved(v int) {
	if x.facts[v]&ended == 0 || x.facts[v]&drops != 0 {
		return
	}
	x.learn(v, x.facts[v]|durable)
	x.mirror(v)
	x.save(v, true)
}

// Lost notes that the last copy of an output is gone, but for its checkpoint.
func (x *Execution) Lost(v int) {
	x.facts[v] &^= live
	x.mirror(v)
}

// Recovering returns the recorded tasks that are not dropped yet, in order.
func (x *Execution) Recovering() []int { return x.set }

// Recovery says what is made again, in order.
type Recovery struct {
	Set    []int // these tasks run again, beside those that are recorded
	Waived []int // so do these, although that breaks a rule
	Again  []int // the outputs of these, and what they are made of, as they were: they repeat what they did
	Lost   []int // the outputs of these cannot be made again; they, and what only they need, are left alone
}

// Recover returns what has to be made again: what is needed and cannot be had, what that is made of, and what was made of
// it. The host records the tasks durably, and then calls Record. If that would break a rule an output is made again by a
// repeat, if the task and what it needs repeat what they did; else it is lost, or the rule is waived.
func (x *Execution) Recover(waive bool) (r Recovery) {
	found := x.needed()
	set, changed := x.closure(found)
	if x.violation(set, changed) == nil {
		x.sort(set)
		return Recovery{Set: set}
	}
	var may, waived []int
	for _, v := range found {
		switch {
		case x.violation(x.closure([]int{v})) == nil:
			may = append(may, v)
		case len(x.unrepeatable(append(x.remake(v), v))) == 0:
			r.Again = append(r.Again, v)
		case waive:
			waived = append(waived, v)
		default:
			r.Lost = append(r.Lost, v)
		}
	}
	r.Set, _ = x.closure(may)
	r.Waived, changed = x.closure(waived)
	for _, v := range changed { // recorded before, for the same inputs
		if x.facts[v]&drops != 0 && x.repeated(v) {
			r.Waived = append(r.Waived, v)
		}
	}
	for _, all := range [][]int{r.Set, r.Waived, r.Again, r.Lost} {
		x.sort(all)
	}
	return r
}

// closure returns outputs with what they are made of, if that cannot be had, and what was made of what may come out
// differently; and those tasks that may get other inputs, also if they are recorded.
func (x *Execution) closure(found []int) (set, changed []int) {
	in, other := map[int]bool{}, map[int]bool{}
	add := func(v int) {
		if !in[v] && x.facts[v]&drops == 0 {
			in[v] = true
			set = append(set, v)
		}
	}
	for _, v := range found {
		add(v)
	}
	for i := 0; i < len(set); i++ {
		v := set[i]
		for _, p := range x.parents(v) {
			if m := x.maker(int(p)); x.facts[m]&ended != 0 && !x.there(m) {
				add(m)
			}
		}
		if !x.Tasks[v].differs() {
			continue
		}
		x.below(v, func(w int) {
			if x.facts[w]&begun != 0 {
				add(w)
				if !other[w] {
					other[w] = true
					changed = append(changed, w)
				}
			}
		})
	}
	return set, changed
}

// below calls f with each task below v: in an expansion of it, and after it.
func (x *Execution) below(v int, f func(w int)) {
	seen := map[int]bool{v: true}
	var todo []int
	after := func(v int) {
		for {
			s := x.scope(v)
			for _, w := range s.consumers(int(x.local[v])) {
				todo = append(todo, int(w))
			}
			if !s.isResult(v) { // its output is that of the task that has returned its graph
				return
			}
			v = s.owner
		}
	}
	within := func(v int) {
		if s := x.inner[v]; s != nil {
			for l := range s.Tasks {
				todo = append(todo, s.base+l)
			}
		}
	}
	after(v)
	within(v)
	for len(todo) > 0 {
		w := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !seen[w] {
			seen[w] = true
			f(w)
			after(w)
			within(w)
		}
	}
}

// needed returns the outputs that are needed and cannot be had: by a task that has not ended, by a
// wait, or as a result.
func (x *Execution) needed() (all []int) {
	need := make([]bool, len(x.Tasks))
	open := make([]bool, len(x.scopes)) // a task in it has not ended: it may read what the one outside has read
	type wait struct {
		s *scope
		n node
	}
	seen := map[wait]bool{}
	var todo []wait
	for v := range x.Tasks {
		s := x.scope(v)
		if s == nil {
			continue
		}
		ends := x.facts[v]&(ended|drops) == ended
		need[v] = need[v] || x.sink[v] && (ends || x.inner[v] != nil)
		if ends {
			continue
		}
		if s.spare(int(x.local[v])) == 0 || !x.enough(v) {
			for _, p := range x.parents(v) {
				need[p] = need[p] || !x.holds(v, int(p))
			}
		}
		if !open[x.home[v]] && s.owner >= 0 {
			open[x.home[v]] = true
			for _, p := range x.parents(s.owner) {
				need[p] = true
			}
		}
		if (x.inner[v] == nil || x.facts[v]&drops != 0) && !x.waitless(v) {
			todo = append(todo, wait{s, at(int(x.local[v]), begin)})
		}
	}
	for len(todo) > 0 {
		w := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[w] || w.n.kind() == end || w.s.lacks[w.s.of[w.n]] <= 0 {
			continue
		}
		seen[w] = true
		if w.n.kind() == saved {
			v := w.s.base + w.n.task()
			need[v] = true
			if in := x.inner[v]; in != nil { // each checkpoint in it is waited for
				for l := range in.Tasks {
					if in.saves(l) {
						todo = append(todo, wait{in, at(l, saved)})
					}
				}
			}
			continue
		}
		w.s.requires(w.n, w.s.Events.consumers, func(n node) { todo = append(todo, wait{w.s, n}) })
	}
	for v, is := range need {
		if !is {
			continue
		}
		if in := x.inner[v]; in != nil {
			need[in.result()] = true // its number is greater: the loop comes to it
		} else if x.facts[v]&(ended|drops) == ended && !x.there(v) {
			all = append(all, v)
		}
	}
	return all
}

// violation returns an error if a set would run a begun irreversible task again with other inputs, undo a task above
// one, or undo one whose inputs cannot be had again.
func (x *Execution) violation(set, changed []int) error {
	for _, v := range changed {
		if x.repeated(v) {
			return fmt.Errorf("%s has begun and cannot be taken back, and would begin again with other inputs", x.name(v))
		}
	}
	for _, v := range set {
		if x.Tasks[v].Effect != Undo || x.facts[v]&begun == 0 {
			continue
		}
		if gone := x.unrepeatable(x.remake(v)); len(gone) > 0 {
			return fmt.Errorf("%s would be undone without the output of %s", x.name(v), x.name(gone[0]))
		}
		var err error
		x.below(v, func(w int) {
			if x.repeated(w) {
				err = fmt.Errorf("%s would be undone after %s has begun, which nothing takes back", x.name(v), x.name(w))
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// unrepeatable returns those of some tasks that do not make the same output again of the same inputs without another effect.
func (x *Execution) unrepeatable(all []int) (some []int) {
	for _, v := range all {
		if t := x.Tasks[v]; x.grows(v) || t.Effect == Undo || t.Effect == None && t.differs() {
			some = append(some, v)
		}
	}
	return some
}

// Unsaved notes that the checkpoint of a task is lost.
func (x *Execution) Unsaved(v int) {
	x.learn(v, x.facts[v]&^durable)
	x.mirror(v)
	x.save(v, false)
}

// Record notes that a set is durable: nothing in it counts any more. With loss it may break the rules, which was accepted.
func (x *Execution) Record(set []int, loss bool) {
	for _, v := range set {
		x.learn(v, x.facts[v]|drops)
		if loss {
			x.facts[v] |= waived
		}
		x.save(v, false)
		x.unend(v)
	}
	x.set = append(x.set, set...)
	x.sort(x.set)
	x.set = slices.Compact(x.set)
}

// Drop is the next step of a recovery: it concerns the last task of the recorded set.
type Drop struct {
	Task   int
	Undo   bool  // its undo has to run, with the outputs of its parents
	Remake []int // those of them, and of what they are made of, that have to be made again before, in order
}

// Next returns the next step of the recovery; false: nothing is recorded.
func (x *Execution) Next() (d Drop, ok bool) {
	if len(x.set) == 0 {
		return Drop{}, false
	}
	v := x.set[len(x.set)-1]
	d = Drop{Task: v, Undo: x.Tasks[v].Effect == Undo && x.facts[v]&begun != 0}
	if d.Undo {
		d.Remake = x.remake(v)
	}
	return d, true
}

// remake returns what has to be made again, with the inputs that it had, for the undo of a task. A task in an
// expansion may read what the one outside has read.
func (x *Execution) remake(v int) (all []int) {
	seen := map[int]bool{}
	open := map[int32]bool{}
	var todo []int
	inputs := func(v int) {
		for _, p := range x.parents(v) {
			todo = append(todo, int(p))
		}
		for s := x.scope(v); s.owner >= 0 && !open[x.home[v]]; s = x.scope(v) {
			open[x.home[v]] = true
			v = s.owner
			for _, p := range x.parents(v) {
				todo = append(todo, int(p))
			}
		}
	}
	inputs(v)
	for len(todo) > 0 {
		p := x.maker(todo[len(todo)-1])
		todo = todo[:len(todo)-1]
		if !seen[p] && !x.there(p) {
			seen[p] = true
			all = append(all, p)
			if x.Tasks[p].Needs == 0 { // else nothing makes that again, and some of its inputs may never have been made
				inputs(p)
			}
		}
	}
	x.sort(all)
	return all
}

// Remade notes that an output is there again, with the same bytes.
func (x *Execution) Remade(v int) {
	x.facts[v] = x.facts[v]&^moved | live
	x.mirror(v)
}

// Dropped notes that the last task of the recorded set is undone, and its output and checkpoint are
// gone. It can begin again. What nothing takes back stays begun, unless it is waived. The expansion of a task goes with it.
func (x *Execution) Dropped() {
	v := x.set[len(x.set)-1]
	x.set = x.set[:len(x.set)-1]
	if s := x.inner[v]; s != nil {
		x.leave(s)
	}
	stays := fact(0)
	if x.repeated(v) {
		stays = begun
	}
	x.learn(v, stays)
	x.mirror(v)
}
