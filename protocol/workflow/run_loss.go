package workflow

import (
	"cmp"
	"fmt"
	"slices"
)

// An output is lost for good if no memory and no disk has it, and to make it again would break a rule: an irreversible task that
// has begun would get other inputs, or an undo would not get those that its task had (workflow specification 2.5). The Run
// does without it what it can, and is stuck until somebody accepts the loss. Then it makes the output again all the
// same, and what was made of it: outsiders may see effects of both, and those whose undo lacks an input stay. That holds until
// the recovery set is empty, or to the end of a run that goes back; a loss that comes later is asked about anew.

// unsaved takes that no disk has the checkpoint of a task any more, and reports whether that is new.
func (r *Run) unsaved(ev Unsaved) (news bool) {
	if r.over || ev.Task < 0 || ev.Task >= len(r.tasks) || r.x.scope(ev.Task) == nil || r.x.expanded(ev.Task) {
		return false
	}
	t := &r.tasks[ev.Task]
	if t.gen != ev.Gen || t.made != ev.Made || t.output.Recorded || r.x.facts[ev.Task]&durable == 0 {
		return false
	}
	r.x.Unsaved(ev.Task)
	r.looks, r.unsaves = true, true
	r.wake(ev.Task) // it is saved again if a node has the output
	return true
}

// Lacks returns the tasks whose outputs are lost for good and needed, in order: what Resume may accept.
func (r *Run) Lacks() []int {
	all := slices.DeleteFunc(slices.Concat(r.lost, r.missing), func(v int) bool { return r.x.scope(v) == nil })
	r.x.sort(all)
	return slices.Compact(all)
}

// lack notes in a list of the Run which outputs are lost for good, and says so once.
func (r *Run) lack(list *[]int, all []int) {
	for _, v := range all {
		if !slices.Contains(r.lost, v) && !slices.Contains(r.missing, v) {
			r.emit(Stuck{Task: v, Why: fmt.Sprintf("the output of %s is lost, and cannot be made again without other effects: resume the run and accept the loss, or cancel it", r.x.name(v))})
		}
	}
	*list = all
}

// resume goes on with what is stuck.
func (r *Run) resume(ev Resume) {
	if r.over {
		return
	}
	accepts := ev.AcceptLoss && len(r.lost)+len(r.missing) > 0
	if len(ev.Versions) > 0 || accepts {
		rec := Resumed{Versions: ev.Versions, AcceptLoss: accepts}
		r.resumed(rec)
		r.write(rec, nil)
	}
	r.lost, r.missing, r.looks = nil, nil, true // what is still lost is said again
	for v := range r.tasks {
		if t := &r.tasks[v]; t.stuck {
			t.stuck, t.retries, t.losses, t.again = false, 0, 0, 0
			r.wake(v)
		}
	}
}

func (r *Run) resumed(rec Resumed) {
	r.waives = r.waives || rec.AcceptLoss
	for _, f := range rec.Versions {
		if r.versions == nil {
			r.versions = map[string]int{}
		}
		r.versions[f.Name] = f.Version
	}
}

// Version returns the version of a function that a Resume has put in place of others; false: none has.
func (r *Run) Version(name string) (version int, ok bool) {
	version, ok = r.versions[name]
	return version, ok
}

// allVersions returns all that Resumes have put in place of others.
func (r *Run) allVersions() (all []Function) {
	for name, version := range r.versions {
		all = append(all, Function{name, version})
	}
	slices.SortFunc(all, func(a, b Function) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// wakeReaders has the Run look at the tasks that may begin since one has ended, or its output is there again: those that
// only repeat what they did wait for nothing else, so that Events may not tell.
func (r *Run) wakeReaders(v int) {
	for {
		s := r.x.scope(v)
		for _, w := range s.consumers(int(r.x.local[v])) {
			r.wake(int(w))
		}
		if s.owner < 0 {
			return
		}
		v = s.owner // it has ended with the last task of its graph
	}
}

// accepted ends the acceptance of a loss once nothing is made again because of it.
func (r *Run) accepted() {
	if r.waives && r.failing == "" && len(r.x.Recovering()) == 0 {
		r.waives = false
	}
}

// leave has the effect of a task stay, as its undo or its compensation lacks an input that is lost.
func (r *Run) leave(v int) {
	r.write(Undone{Task: v, Fence: r.tasks[v].fence, Left: true}, nil)
}
