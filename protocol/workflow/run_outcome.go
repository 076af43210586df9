package workflow

import (
	"cmp"
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx/protocol/retry"
)

// outcome takes the end of an attempt. Only that of the running one counts.
func (r *Run) outcome(o Outcome) {
	if o.Task < 0 || o.Task >= len(r.tasks) { // a task of an expansion that was not recorded
		return
	}
	t := &r.tasks[o.Task]
	if o.Attempt != t.running || t.running.IsZero() {
		return
	}
	kind, ending := t.kind, t.ending
	t.running, t.ending = Attempt{}, false
	defer r.wake(o.Task)
	if o.Failed != "" || o.Lost || ending {
		r.looks = r.x.Failed(o.Task) || r.looks
	}
	switch {
	case kind == TakeBack && o.Failed == "" && !o.Lost:
		r.undone(o.Task)
	case kind == Remake && o.Failed == "" && !o.Lost && o.Graph != nil:
		o.Failed = "it has returned a graph, and ran to make its output again"
		r.failed(o, kind)
	case kind == Remake && o.Failed == "" && !o.Lost:
		if r.x.facts[o.Task]&ended == 0 { // it was dropped with its output, and failed since
			t.output = o.Output
		}
		r.x.Remade(o.Task)
		if r.unsaves {
			r.wakeReaders(o.Task)
		}
	case kind == MakeUp && o.Failed == "" && !o.Lost:
		t.backed = true
		r.write(Compensated{Task: o.Task}, nil)
	case ending: // nobody waits for it any more
	case o.Failed == "" && !o.Lost && o.Graph != nil:
		r.expand(o)
	case o.Failed == "" && !o.Lost:
		r.ended(o)
	default:
		r.failed(o, kind)
	}
}

func (r *Run) ended(o Outcome) {
	t := &r.tasks[o.Task]
	t.retries, t.losses, t.undo, t.output, t.made = 0, 0, false, o.Output, o.Attempt
	r.x.Ended(o.Task)
	if r.unsaves {
		r.wakeReaders(o.Task)
	}
	gen := t.gen
	if !r.x.saves(o.Task) { // a record would be a checkpoint
		o.Output.Recorded, o.Output.Bytes = false, nil
	}
	t.saving = o.Output.Recorded
	r.write(Ended{Task: o.Task, Gen: gen, Attempt: o.Attempt, Output: o.Output}, func() {
		if t := &r.tasks[o.Task]; o.Output.Recorded && t.gen == gen {
			t.saving = false
			r.x.Saved(o.Task)
		}
	})
}

// undone notes that no attempt of a task has an effect any more.
func (r *Run) undone(v int) {
	t := &r.tasks[v]
	t.undo, t.retries, t.losses, t.backed = false, 0, 0, r.failing != ""
	r.write(Undone{Task: v, Fence: t.fence}, nil)
	if t.caught != "" && r.failing == "" {
		r.endCaught(v)
	}
	if set := r.x.Recovering(); len(set) > 0 && set[len(set)-1] == v {
		r.drop()
	}
}

// failed has an attempt repeated after a pause; an undo takes its effect back before.
func (r *Run) failed(o Outcome, kind Kind) {
	t := &r.tasks[o.Task]
	why, n, most := o.Failed, &t.retries, r.cfg.Retries
	if retries := r.x.Tasks[o.Task].Retries; retries > 0 {
		most = retries - 1
	}
	if o.Lost {
		why, n, most = cmp.Or(o.Failed, "its node has left"), &t.losses, r.cfg.Losses
	} else {
		t.losses = 0
	}
	*n++
	if kind == Do && r.x.Tasks[o.Task].Effect == Undo {
		t.undo = true
	}
	if kind == Do && (o.Final || !o.Lost && *n > most) {
		r.giveUp(o.Task, why)
		return
	}
	if *n > most {
		t.stuck = true
		r.emit(Stuck{Task: o.Task, Why: fmt.Sprintf("%s has failed %d times in a row, lastly: %s", r.x.name(o.Task), *n, why)})
		return
	}
	t.again = r.now + r.pause(*n)
	r.emit(Failed{Task: o.Task, Why: why, Again: t.again, Retries: *n})
}

// pause returns how long the Run waits after so many failures in a row.
func (r *Run) pause(failures int) time.Duration {
	return retry.Pauses{First: r.cfg.Pause, Most: mostPause}.After(failures)
}

func (r *Run) checkpointed(c Checkpointed) {
	t := &r.tasks[c.Task]
	if t.gen != c.Gen || t.made != c.Made || !t.saving {
		return // void: the task was dropped since
	}
	t.saving = false
	if c.Failed != "" {
		t.retries++
		t.again = r.now + r.pause(t.retries)
		r.wake(c.Task)
		r.emit(Failed{Task: c.Task, Why: "its checkpoint: " + c.Failed, Again: t.again, Retries: t.retries})
		return
	}
	t.retries = 0
	if r.x.facts[c.Task]&drops != 0 {
		return
	}
	if r.x.facts[c.Task]&live == 0 { // it counted as lost for good
		r.looks = true
		r.wakeReaders(c.Task)
	}
	r.x.Saved(c.Task)
	r.write(Saved{Task: c.Task, Gen: c.Gen, Made: c.Made}, nil)
}

// recover records what has to be made again. It looks at all tasks, so it does so only when an output was
// lost, or when what is dropped needs others.
func (r *Run) recover() {
	if !r.looks {
		return
	}
	all := r.x.Recover(r.waives)
	r.lack(&r.lost, all.Lost)
	r.record(all.Set, false)
	r.record(all.Waived, true)
	for _, v := range all.Again {
		r.remake(append(r.x.remake(v), v))
	}
	r.looks = len(all.Set)+len(all.Waived)+len(all.Again) > 0
}

// record has tasks run again.
func (r *Run) record(set []int, loss bool) {
	if len(set) == 0 {
		return
	}
	r.x.Record(set, loss)
	r.recording++
	for _, v := range set {
		r.end(v)
	}
	r.write(Recovering{Set: set, Loss: loss}, func() { r.recording-- })
}

// end cancels the attempt of a task that runs.
func (r *Run) end(v int) {
	t := &r.tasks[v]
	if t.running.IsZero() || t.ending || t.kind != Do {
		return
	}
	t.ending = true
	r.emit(Cancel{Task: v, Attempt: t.running})
}

// takeBack undoes and drops what is recorded, from the last task to the first.
func (r *Run) takeBack() {
	if r.recording > 0 {
		return
	}
	r.lack(&r.missing, r.takeBackAll())
}

// takeBackAll returns the outputs that are lost and that it needs.
func (r *Run) takeBackAll() (lost []int) {
	for {
		d, ok := r.x.Next()
		if !ok {
			return nil
		}
		t := &r.tasks[d.Task]
		switch {
		case !t.running.IsZero() || t.again > r.now || t.stuck:
			if t.again > r.now {
				r.wake(d.Task)
			}
			return nil
		case !d.Undo:
			r.drop()
			continue
		case len(d.Remake) == 0:
			r.begin(d.Task, TakeBack)
			return nil
		}
		lost = r.x.unrepeatable(d.Remake)
		if len(lost) == 0 {
			r.remake(d.Remake)
			return nil
		}
		if !r.waives {
			return lost
		}
		r.leave(d.Task)
		r.drop()
	}
}

// remake runs, of some tasks, those again whose inputs are there.
func (r *Run) remake(all []int) {
	for _, v := range all {
		t := &r.tasks[v]
		there := true
		for _, p := range r.x.parents(v) {
			there = there && r.x.there(int(p))
		}
		switch {
		case !there || !t.running.IsZero() || t.stuck || r.read(v, all):
		case t.again > r.now:
			r.wake(v)
		default:
			r.begin(v, Remake)
		}
	}
}

// close ends the run once all results are saved.
func (r *Run) close() {
	if !r.x.Over() {
		return
	}
	r.finish("")
}

// finish ends the run: well, if failed is empty.
func (r *Run) finish(failed string) {
	r.over = true
	r.write(Closed{Failed: failed}, func() {
		r.closed = true
		r.refuseLate()
	})
}

// giveUp takes the error of a task that no other attempt mends.
func (r *Run) giveUp(v int, why string) {
	t := &r.tasks[v]
	switch {
	case r.failing != "":
		t.unready = true
	case !r.x.Tasks[v].Caught:
		t.unready = true
		cause := r.x.name(v) + ": " + why
		r.fail(cause, Failing{Cause: cause})
	case t.undo: // the effect goes first
		t.caught = why
	default:
		t.caught = why
		r.endCaught(v)
	}
}

// endCaught makes the error of a task its output, which its consumer takes.
func (r *Run) endCaught(v int) {
	t := &r.tasks[v]
	r.ended(Outcome{Task: v, Attempt: t.fence, Output: Output{Recorded: true, Error: t.caught}})
	t.caught = ""
}
