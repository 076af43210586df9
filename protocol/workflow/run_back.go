package workflow

import (
	"maps"
	"slices"
)

// A run that fails or is aborted goes back (workflow specification 2.5): irreversible tasks that have begun end first, since
// nobody knows whether outsiders have seen them. Then, from the last task to the first, effects are made up
// for by compensations, or taken back by undos. The undo of a task does not run if an irreversible
// one below it has begun and is not compensated.

// fail has the run go back, and records why.
func (r *Run) fail(cause string, rec Record) {
	if r.failing != "" || r.over {
		return
	}
	r.failing = cause
	r.write(rec, func() { r.certain = true })
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
	var lost []int
	for _, v := range slices.Sorted(maps.Keys(r.waits)) {
		switch {
		case r.tasks[v].running.IsZero() && !r.unknown(v):
			delete(r.waits, v)
		case !r.free(v) || r.read(v, nil):
		default:
			there, gone := r.inputs(v)
			switch {
			case there:
				r.begin(v, Do)
			case len(gone) > 0 && r.waives: // nobody will know whether outsiders have seen it
				r.tasks[v].unready = true
				delete(r.waits, v)
			}
			lost = append(lost, gone...)
		}
	}
	if len(r.waits) > 0 {
		r.lackToGoBack(lost)
		return
	}
	for ; r.back >= 0; r.back-- {
		done, lost := r.backFrom(r.line[r.back])
		if !done {
			r.lackToGoBack(lost)
			return
		}
	}
	r.finish(r.failing)
}

func (r *Run) lackToGoBack(lost []int) {
	if r.waives {
		lost = nil
	}
	r.lost = nil
	r.lack(&r.missing, lost)
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

// inputs reports whether the inputs of a task are there; it has missing ones made again, unless some are lost for good.
func (r *Run) inputs(v int) (there bool, lost []int) {
	missing := r.x.remake(v)
	if lost = r.x.unrepeatable(missing); len(lost) == 0 {
		r.remake(missing)
	}
	return len(missing) == 0, lost
}

// backFrom takes back what outsiders have seen of a task, and reports whether that is done, or which outputs are lost that
// this needs.
func (r *Run) backFrom(v int) (done bool, lost []int) {
	t, task := &r.tasks[v], r.x.Tasks[v]
	kind := TakeBack
	compensates := task.Compensates && r.x.facts[v]&ended != 0 && t.output.Error == ""
	switch {
	case r.x.facts[v]&begun == 0 || t.backed || t.left:
		return true, nil
	case compensates && (task.Effect != Undo || r.x.there(v)):
		kind = MakeUp
	case task.Effect != Undo:
		return true, nil
	case r.stays(v):
		if !compensates {
			return true, nil
		}
		lost = []int{v}
	}
	if !r.free(v) {
		return false, nil
	}
	there, gone := r.inputs(v)
	lost = append(lost, gone...)
	switch {
	case len(lost) > 0 && !r.waives:
	case len(lost) > 0:
		t.left = true
		r.leave(v)
		return true, nil
	case !there:
	case kind == MakeUp && !r.x.there(v) && r.read(v, nil):
	case kind == MakeUp && !r.x.there(v): // a repeat under its key returns the same
		r.begin(v, Remake)
	default:
		r.begin(v, kind)
	}
	return false, lost
}

// stays reports whether the effect of a task stays, since an irreversible task below it has begun and is
// not compensated.
func (r *Run) stays(v int) (stays bool) {
	r.x.below(v, func(w int) {
		stays = stays || r.x.Tasks[w].Irreversible() && r.x.facts[w]&begun != 0 && !r.tasks[w].backed
	})
	return stays
}
