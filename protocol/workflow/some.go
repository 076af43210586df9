package workflow

import (
	"fmt"
	"slices"
)

// A task with Needs begins once so many of its inputs have ended, and takes all that have ended as its attempt is ordered
// (workflow specification 4.5). Which these are is not recorded: the task has no effect, so that no undo asks for them, and it never
// counts as one that makes the same output again. In all else each input is an ancestor, whether it was taken or not: the task is made
// again with what it may have read, and an irreversible task behind it waits until all of them are settled.

// needing checks which tasks may begin before all of their inputs have ended.
func (s shape) needing() *CheckError {
	for v := range s.Tasks {
		t := &s.Tasks[v]
		refuse := func(why, fix string) *CheckError {
			return &CheckError{Rule: Shape, Path: []string{s.name(v)}, Why: s.name(v) + " " + why, Fix: fix}
		}
		switch {
		case t.Needs == 0:
		case t.Needs < 0 || int(t.Needs) > len(t.Reads):
			return refuse(fmt.Sprintf("needs %d of its %d inputs", t.Needs, len(t.Reads)), "let it need at least one, and no more than there are")
		case t.waits() || t.Expands || t.Actor || len(t.Writes) > 0 || t.acts():
			return refuse(fmt.Sprintf("needs %d of its %d inputs, and is no reduce: it waits, has an effect, writes or makes an actor, or returns a graph", t.Needs, len(t.Reads)),
				"leave that to a task behind it")
		case repeats(t.Reads):
			return refuse("needs some of its inputs, and reads one of them twice", "have it read each once")
		}
	}
	return nil
}

func repeats(all []int) bool {
	sorted := slices.Sorted(slices.Values(all))
	return len(slices.Compact(sorted)) < len(all)
}

// spare returns how many of its inputs a task can do without.
func (s shape) spare(v int) int {
	if t := &s.Tasks[v]; t.Needs > 0 {
		return len(t.Reads) - int(t.Needs)
	}
	return 0
}

// follows reports whether all has ended that a task follows.
func (e *Events) follows(v int) bool {
	return !slices.ContainsFunc(e.Tasks[v].After, func(p int) bool { return !e.happened[e.counts(p)] })
}

// usable reports whether the output of p may go to those who read it, and can be had.
func (x *Execution) usable(p int32) bool {
	s := x.scope(int(p))
	return s.happened[s.counts(int(x.local[p]))] && x.available(int(p))
}

// enough reports whether a task that can do without some of its inputs has as many as it needs, and all that it follows.
func (x *Execution) enough(v int) bool { return x.has(v) >= int(x.Tasks[v].Needs) && x.followed(v) }

// has returns how many of its inputs a task could have now.
func (x *Execution) has(v int) (n int) {
	for _, p := range x.parents(v)[:len(x.Tasks[v].Reads)] {
		if x.usable(p) {
			n++
		}
	}
	return n
}

func (x *Execution) followed(v int) bool {
	return !slices.ContainsFunc(x.parents(v)[len(x.Tasks[v].Reads):], func(p int32) bool { return !x.available(int(p)) })
}

// inputs returns the parents whose outputs go to an attempt of v: all of them, or for a task with Needs those that there are now;
// nil: there are not enough any more.
func (x *Execution) inputs(v int) []int32 {
	all := x.parents(v)
	if x.scope(v).spare(int(x.local[v])) == 0 {
		return all
	}
	if !x.enough(v) {
		return nil
	}
	reads := len(x.Tasks[v].Reads)
	some := make([]int32, 0, len(all))
	for i, p := range all {
		if i >= reads || x.usable(p) {
			some = append(some, p)
		}
	}
	return some
}
