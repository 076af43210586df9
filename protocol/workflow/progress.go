package workflow

// Progress is how the tasks of a run stand, as its records say. It knows less than a Run, needs no checks, and takes the
// records of a run that has ended as well.
type Progress struct {
	Tasks []TaskProgress // by number
	Cause string         // why the run goes back, or has failed
	Over  bool           // it has ended

	inner map[int][2]int // the numbers of the graphs that tasks have returned: first, and behind the last
}

// TaskProgress is how a task stands.
type TaskProgress struct {
	Stage    Stage
	Attempts int    // that have begun
	Caught   string // the error that its consumer takes, in place of an output
}

// Stage says how far a task has come.
type Stage uint8

// The stages of a task.
const (
	Unbegun   Stage = iota // it has not begun
	Underway               // an attempt has begun, or it sleeps
	Done                   // it has an output, which is not saved
	Secured                // it has an output, which is saved
	Expanding              // it has returned a graph, which goes on
	Remaking               // its effect was taken back, or its output does not count any more: it runs again
	Reversed               // the run goes back, and its effect was taken back
	MadeUpFor              // or something makes up for it
	Stays                  // or it stays, as what would take it back is lost
	Void                   // it is of a graph that does not count any more
)

// NewProgress returns the Progress of a run of so many tasks, of which nothing is recorded yet.
func NewProgress(tasks int) *Progress {
	return &Progress{Tasks: make([]TaskProgress, tasks), inner: map[int][2]int{}}
}

// Take takes the next record. An Expanded has its Graph.
func (p *Progress) Take(rec Record) {
	switch rec := rec.(type) {
	case Begun:
		p.at(rec.Task).Stage = Underway
		p.at(rec.Task).Attempts++
	case Slept:
		p.at(rec.Task).Stage = Underway
	case Ended:
		t := p.at(rec.Task)
		t.Stage, t.Caught = Done, rec.Output.Error
		if rec.Output.Recorded {
			t.Stage = Secured
		}
	case Saved:
		if t := p.at(rec.Task); t.Stage == Done {
			t.Stage = Secured
		}
	case Unsaved:
		if t := p.at(rec.Task); t.Stage == Secured {
			t.Stage = Done
		}
	case Expanded:
		p.at(rec.Task).Stage = Expanding
		p.inner[rec.Task] = [2]int{rec.First, rec.First + len(rec.Graph.Tasks)}
		for l := range rec.Graph.Tasks {
			*p.at(rec.First + l) = TaskProgress{}
		}
	case Recovering:
		for _, v := range rec.Set {
			p.at(v).Stage = Remaking
		}
		for _, v := range rec.Set {
			p.void(v)
		}
	case Undone:
		t := p.at(rec.Task)
		switch {
		case t.Stage == Void:
		case rec.Left:
			t.Stage = Stays
		case p.Cause != "":
			t.Stage = Reversed
		case t.Caught == "":
			t.Stage = Remaking
		}
	case Compensated:
		p.at(rec.Task).Stage = MadeUpFor
	case Failing:
		p.Cause = rec.Cause
	case Cancelled:
		p.Cause = rec.Cause
	case Closed:
		p.Over, p.Cause = true, rec.Failed
	}
}

// at returns what is known of a task. A number that no graph has yet is of one that comes.
func (p *Progress) at(v int) *TaskProgress {
	for len(p.Tasks) <= v {
		p.Tasks = append(p.Tasks, TaskProgress{Stage: Void})
	}
	return &p.Tasks[v]
}

// void drops the graph that a task has returned.
func (p *Progress) void(v int) {
	span, is := p.inner[v]
	if !is {
		return
	}
	delete(p.inner, v)
	for w := span[0]; w < span[1]; w++ {
		p.Tasks[w].Stage = Void
		p.void(w)
	}
}

// Inner returns the numbers of the graph that a task has returned: the first, and the one behind the last.
func (p *Progress) Inner(v int) (first, end int, ok bool) {
	span, is := p.inner[v]
	return span[0], span[1], is
}

// String returns a stage in words.
func (s Stage) String() string {
	return [...]string{"to come", "begun", "ended", "saved", "expanded", "again", "undone", "compensated", "effect stays", "dropped"}[s]
}
