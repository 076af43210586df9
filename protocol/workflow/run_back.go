package workflow

import (
	"maps"
	"slices"
)

// A run that fails or is aborted goes back (workflow specification 2.5): irreversible tasks that have begun end first, since
// nobody knows whether outsiders have seen them. Then, from the last task to the first, effects are made up
// for by compensations, or taken back by undos. The undo of a task does not run if an irreversible
// one below it has begun and is not compensated.

// fail has the run go back.
func (r *Run) fail(cause string) {
	if r.failing != "" || r.over {
		return
	}
	r.failing = cause
	r.write(Failing{Cause: cause}, func() { r.certain = true })
	for v := range r.tasks {
		if !r.x.Tasks[v].Irreversible() {
			r.end(v)
		}
	}
}

// goBack does all that can be done now. The Run does nothing before Failing is durable: the next
// controller would go on with a run of which something was compensated.
func (r *Run) goBack() {
	if !r.certain {
		return
	}
	if r.waits == nil {
		r.waits, r.line = map[int]bool{}, r.x.line()
		r.back = len(r.line) - 1
		for v := range r.tasks {
			if !r.tasks[v].running.IsZero() || r.unknown(v) {
				r.waits[v] = true
			}
		}
	}
	for _, v := range slices.Sorted(maps.Keys(r.waits)) {
		if r.tasks[v].running.IsZero() && !r.unknown(v) {
			delete(r.waits, v)
		} else if r.free(v) && r.inputs(v) && !r.read(v, nil) {
			r.begin(v, Do)
		}
	}
	if len(r.waits) > 0 {
		return
	}
	for ; r.back >= 0; r.back-- {
		if !r.backFrom(r.line[r.back]) {
			return
		}
	}
	r.finish(r.failing)
}

// unknown reports whether outsiders may have seen an irreversible task that has not ended.
func (r *Run) unknown(v int) bool {
	return r.x.Tasks[v].Irreversible() && r.x.facts[v]&(begun|ended) == begun && !r.tasks[v].unready && !r.x.expanded(v) && !r.tasks[v].grows
}

// free reports whether an attempt of a task may begin now. If it may later, the Run looks then.
func (r *Run) free(v int) bool {
	t := &r.tasks[v]
	if t.running.IsZero() && t.again > r.now {
		r.wake(v)
	}
	return t.running.IsZero() && t.again <= r.now && !t.stuck
}

// inputs reports whether the inputs of a task are there; it has missing ones made again.
func (r *Run) inputs(v int) bool {
	missing := r.x.remake(v)
	r.remake(missing)
	return len(missing) == 0
}

// backFrom takes back what outsiders have seen of a task, and reports whether that is done.
func (r *Run) backFrom(v int) bool {
	t, task := &r.tasks[v], &r.x.Tasks[v]
	kind := TakeBack
	switch {
	case r.x.facts[v]&begun == 0 || t.backed:
		return true
	case task.Compensates && r.x.facts[v]&ended != 0 && t.output.Error == "" && (task.Effect != Undo || r.x.there(v)):
		kind = MakeUp
	case task.Effect != Undo || r.stays(v):
		return true
	}
	switch {
	case !r.free(v) || !r.inputs(v):
	case kind == MakeUp && !r.x.there(v) && r.read(v, nil):
	case kind == MakeUp && !r.x.there(v): // a repeat under its key returns the same
		r.begin(v, Remake)
	default:
		r.begin(v, kind)
	}
	return false
}

// stays reports whether the effect of a task stays, since an irreversible task below it has begun and is
// not compensated.
func (r *Run) stays(v int) (stays bool) {
	r.x.below(v, func(w int) {
		stays = stays || r.x.Tasks[w].Irreversible() && r.x.facts[w]&begun != 0 && !r.tasks[w].backed
	})
	return stays
}
