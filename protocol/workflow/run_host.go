package workflow

import "time"

// This file has the questions of a Controller to a Run, beside events and effects.

// numberFrom has attempts be numbered from n+1 on, so that a run that is loaded twice in one epoch names none
// twice.
func (r *Run) numberFrom(n uint64) { r.attempts = n }

// idle reports whether nothing but an event from outside can move the run before a time.
func (r *Run) idle(until time.Duration) bool {
	at, due := r.Due()
	return (!due || at >= until) && len(r.pending) == 0 && !r.over
}

// has reports whether a number is that of a task of the run: those of graphs that were dropped are not.
func (r *Run) has(v int) bool { return v >= 0 && v < len(r.tasks) && r.x.scope(v) != nil }

// task returns what is known of a task, its number in the graph that it is of, and what was given for that graph:
// Expanded.Work, or nil for the graph of the run.
func (r *Run) task(v int) (t *Task, local int, work any) {
	return r.x.Tasks[v], int(r.x.local[v]), r.x.scope(v).work
}

// located says where the output of a task is, but for its checkpoint: that of a task that has returned a graph is that of the
// graph's result.
func (r *Run) located(v int) Located {
	v = r.Maker(v)
	t := &r.tasks[v]
	return Located{Task: v, Gen: t.gen, Made: t.made, Output: t.output, Deterministic: r.x.Tasks[v].Deterministic, Off: !r.x.saves(v)}
}

// holds reports whether an output is the present one of its task. A run that goes back makes outputs again of tasks that
// have not ended: those have the zero attempt.
func (r *Run) holds(b Blob) bool {
	return r.has(b.Task) && r.tasks[b.Task].gen == b.Gen && r.tasks[b.Task].made == b.Made
}

// waitsFor reports whether an attempt that was recorded, and has not ended, may have an effect.
func (r *Run) waitsFor(v int) bool {
	return r.x.scope(v) != nil && !r.x.expanded(v) && r.x.facts[v]&(begun|ended) == begun && r.x.Tasks[v].Effect != None
}

// recorded reports whether an attempt is the last one of its task that has begun.
func (r *Run) recorded(v int, gen uint32, a Attempt) bool {
	return r.has(v) && r.tasks[v].gen == gen && r.tasks[v].fence == a && r.x.facts[v]&begun != 0
}

// awaits reports whether the outcome of a recorded attempt is still of use.
func (r *Run) awaits(v int) bool {
	return r.has(v) && !r.x.expanded(v) && r.x.facts[v]&(ended|drops) == 0
}

// complete reports whether each output that is needed can be had.
func (r *Run) complete() bool { return len(r.x.needed()) == 0 }

// lose notes that no node has an output, before the first Step.
func (r *Run) lose(v int) { r.x.Lost(v) }

// trim drops the bytes of an output that is in the ledger.
func (r *Run) trim(v int, made Attempt) {
	if t := &r.tasks[v]; t.made == made && t.output.Recorded && len(t.output.Bytes) > keptBytes {
		t.output.Bytes = nil
	}
}

// state says how the run stands.
func (r *Run) state() (s State, why string) {
	if r.failing != "" {
		return Ending, r.failing
	}
	return Open, ""
}

// count returns how many tasks there are, and how many of them have ended.
func (r *Run) count() (all, n int) {
	for v := range r.tasks {
		if r.x.scope(v) == nil {
			continue
		}
		all++
		if r.x.facts[v]&(ended|drops) == ended {
			n++
		}
	}
	return all, n
}

// results returns where the outputs of the run are: of the tasks of its graph that nobody reads.
func (r *Run) results() (all []Located) {
	for v, is := range r.x.sink {
		if is {
			all = append(all, r.located(v))
		}
	}
	return all
}

// isResult reports whether the output of a task is a result of the run.
func (r *Run) isResult(v int) bool {
	for s := r.x.scope(v); s.isResult(v); s = r.x.scope(v) {
		v = s.owner
	}
	return r.x.sink[v]
}
