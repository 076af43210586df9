package workflow

import "fmt"

// A task that expands ends with the graph that its attempt returns (workflow specification 1.5, 2.1). The record of one with a
// checkpoint is durable before the graph begins; then the task never runs again, as Check has it wait until
// nothing above it changes any more. What is lost of the graph is made again task by task. One without
// checkpoint runs again if something above it changes, and its graph is dropped with it.

// expand takes the graph that an attempt has returned.
func (r *Run) expand(o Outcome) {
	t := &r.tasks[o.Task]
	if r.failing != "" {
		t.unready = true // the graph does not begin
		return
	}
	e, err := r.accepts(o)
	if err != nil {
		o.Failed, o.Final = err.Error(), true
		r.failed(o, Do)
		return
	}
	t.retries, t.losses, t.made, t.grows = 0, 0, o.Attempt, true
	rec := Expanded{Task: o.Task, Gen: t.gen, Attempt: o.Attempt, First: r.x.reserve(o.Task, len(o.Graph.Tasks)), Graph: o.Graph, Work: o.Work}
	r.extend()
	enter := func() {
		if t := &r.tasks[rec.Task]; t.gen == rec.Gen && t.made == rec.Attempt && t.grows {
			t.grows = false
			r.enter(rec, e)
		}
	}
	if !r.x.saves(o.Task) {
		r.write(rec, nil)
		enter()
		return
	}
	r.write(rec, enter)
}

// accepts checks a graph that an attempt has returned.
func (r *Run) accepts(o Outcome) (*Events, error) {
	if n := len(r.x.Tasks) + len(o.Graph.Tasks); n > MaxTasks {
		return nil, &CheckError{Rule: Shape, Path: []string{r.x.name(o.Task)}, Why: fmt.Sprintf("the run would have %d tasks, more than %d", n, MaxTasks),
			Fix: "start other runs"}
	}
	return CheckExpansion(r.x.Tasks[o.Task], r.x.saves(o.Task), o.Graph)
}

// grow takes the record of an earlier controller. Its graph was checked before it was recorded.
func (r *Run) grow(rec Expanded) {
	r.x.claim(rec.Task, rec.First, len(rec.Graph.Tasks))
	r.extend()
	s := shapeOf(rec.Graph)
	s.loose = !r.x.saves(rec.Task)
	e, err := newEvents(s)
	if err != nil {
		panic(err)
	}
	r.enter(rec, e)
}

func (r *Run) enter(rec Expanded, e *Events) {
	s := newScope(e, rec.Task, rec.First)
	s.work = rec.Work
	r.x.enter(s)
	for l := range rec.Graph.Tasks {
		r.wake(rec.First + l)
	}
}

// extend has a taskRun for each number.
func (r *Run) extend() {
	if more := len(r.x.Tasks) - len(r.tasks); more > 0 {
		r.tasks = append(r.tasks, make([]taskRun, more)...)
	}
}

// Maker returns the task whose output is that of v: v itself, or the result of the graph that v has returned. The
// host finds an output under the Maker's name.
func (r *Run) Maker(v int) int { return r.x.maker(v) }

// Name returns the name of a task: parent/child for one of a graph that parent has returned.
func (r *Run) Name(v int) string { return r.x.name(v) }
