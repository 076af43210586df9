package workflow

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx/protocol/agenda"
)

// RunConfig says how a Run goes about failures.
type RunConfig struct {
	Epoch   uint64        // of the controller
	Retries int           // how many failures in a row of a task are repaired; 0: 3
	Losses  int           // how many losses of its node in a row are; 0: 5
	Pause   time.Duration // before the first repeat; it doubles each time, up to mostPause; 0: 100 ms

	// Clock is what the ledger's clock shows when Step is told 0: Clock+now is in what is recorded. That clock
	// counts the time of leaders, not of the wall. A leader goes on from what is recorded of it, so it
	// may fall back by what was not, and never goes faster than time: a Sleep lasts longer by that, never shorter.
	Clock time.Duration
}

// mostPause is the longest pause before a repeat.
const mostPause = time.Minute

func (c RunConfig) withDefaults() RunConfig {
	if c.Retries == 0 {
		c.Retries = 3
	}
	if c.Losses == 0 {
		c.Losses = 5
	}
	if c.Pause == 0 {
		c.Pause = 100 * time.Millisecond
	}
	return c
}

// Run decides for one execution of a workflow under one controller (workflow specification 2).
type Run struct {
	cfg   RunConfig
	x     *Execution
	tasks []taskRun
	now   time.Duration
	out   []RunEffect

	attempts  uint64             // begun in this epoch
	records   []Record           // of this step
	then      []func()           // once these are durable
	appended  uint64             // the number of the last Append
	pending   []pendingAppend    // not durable yet, in order
	agenda    agenda.Agenda[int] // tasks to look at
	looks     bool               // something may be needed that cannot be had
	recording int                // how many additions to the recovery set are not durable yet
	failing   string             // why the run goes back; "": it does not
	certain   bool               // that is durable
	line      []int              // then: the tasks in order
	back      int                // and where in line it is; what is behind is done with
	waits     map[int]bool       // then: the tasks that have to end before
	lost      []int              // outputs that nothing can make again, and that tasks need
	missing   []int              // the same of undos, compensations, and repeats of a run that goes back
	waives    bool               // these losses are accepted
	unsaves   bool               // a checkpoint was lost: Events does not tell of all that may begin
	versions  map[string]int     // of functions, by name, that a Resume has put in place of others
	over      bool               // Closed is written
	closed    bool               // and durable
	signals   signals
}

type pendingAppend struct {
	number uint64
	then   []func()
}

// taskRun is what a Run knows of a task beside its Execution.
type taskRun struct {
	running Attempt // zero: none
	fence   Attempt // the last attempt of the task, not of its undo
	made    Attempt // the attempt that has made output
	output  Output
	caught  string // the error that becomes the output, after the undo
	again   time.Duration
	gen     uint32
	retries int // failures in a row
	losses  int
	kind    Kind // of running
	ending  bool // running was canceled
	undo    bool // that effect has to be taken back before the task begins again
	stuck   bool
	saving  bool
	unready bool // it has begun, and no attempt of it ends well any more
	sleeps  bool // until again
	awaits  bool // the signal is to wake it
	grows   bool // its attempt has returned a graph, and that is not durable
	backed  bool // the run goes back, and the effect is taken back or made up for
	left    bool // the run goes back, and nothing can take the effect back
}

// NewRun returns the Run of a controller that has found these records of earlier ones. Attempts of
// earlier controllers that may still go on have to be told by Adopt before the first Step.
func NewRun(cfg RunConfig, e *Events, records []Record) *Run {
	r := &Run{cfg: cfg.withDefaults(), x: NewExecution(e), tasks: make([]taskRun, len(e.Tasks))}
	for _, rec := range records {
		r.replay(rec)
	}
	for v := range r.tasks {
		if r.x.scope(v) == nil {
			continue
		}
		if r.x.facts[v]&ended != 0 && !r.x.expanded(v) {
			r.x.Lost(v) // until the host says where it is
			r.looks = r.looks || r.x.facts[v]&durable == 0
		}
		if r.x.facts[v]&(ended|drops) == 0 && r.x.facts[v]&begun != 0 && r.x.Tasks[v].Effect == Undo {
			r.tasks[v].undo = true
		}
		r.wake(v)
	}
	return r
}

// replay takes a record of an earlier controller.
func (r *Run) replay(rec Record) {
	switch rec := rec.(type) {
	case Begun:
		t := &r.tasks[rec.Task]
		t.gen, t.fence = rec.Gen, rec.Attempt
		r.x.learn(rec.Task, r.x.facts[rec.Task]|begun)
	case Ended:
		r.tasks[rec.Task].output, r.tasks[rec.Task].made = rec.Output, rec.Attempt
		r.x.Ended(rec.Task)
		if rec.Output.Recorded {
			r.x.Saved(rec.Task)
		}
	case Saved:
		r.x.Saved(rec.Task)
	case Unsaved:
		r.unsaved(rec)
	case Expanded:
		r.tasks[rec.Task].made = rec.Attempt
		r.grow(rec)
	case Slept:
		t := &r.tasks[rec.Task]
		t.sleeps, t.again = true, rec.Until-r.cfg.Clock
		r.x.learn(rec.Task, r.x.facts[rec.Task]|begun)
	case Signalled:
		r.signals.put(rec).durable = true
	case Recovering:
		r.x.Record(rec.Set, rec.Loss)
		r.dropFree()
		r.accepted()
	case Undone:
		t := &r.tasks[rec.Task]
		t.undo, t.backed, t.left = false, r.failing != "" && !rec.Left, r.failing != "" && rec.Left
		if set := r.x.Recovering(); len(set) > 0 && set[len(set)-1] == rec.Task {
			r.drop()
			r.dropFree()
			r.accepted()
		}
	case Failing:
		r.failing, r.certain = rec.Cause, true
	case Cancelled:
		r.failing, r.certain = rec.Cause, true
	case Resumed:
		r.resumed(rec)
	case Compensated:
		r.tasks[rec.Task].backed = true
	case Closed:
		r.over, r.closed = true, true
	}
}

// dropFree drops tasks of the recovery set that need no undo, up to one that does.
func (r *Run) dropFree() {
	for {
		d, ok := r.x.Next()
		if !ok || d.Undo || !r.tasks[d.Task].running.IsZero() {
			return
		}
		r.drop()
	}
}

func (r *Run) drop() {
	set := r.x.Recovering()
	v := set[len(set)-1]
	t, again := &r.tasks[v], taskRun{gen: r.tasks[v].gen + 1, fence: r.tasks[v].fence}
	if r.x.facts[v]&ended == 0 { // its failures in a row go on: a writer that fails is dropped each time
		again.retries, again.losses, again.again = t.retries, t.losses, t.again
	}
	if t.sleeps {
		again.again = 0
	}
	r.x.Dropped()
	r.tasks[v] = again
	r.wake(v)
}

// Has notes that the output that an attempt of a task has made is in some node's memory: the host
// found it as it took over.
func (r *Run) Has(v int, made Attempt) {
	if r.x.facts[v]&ended != 0 && r.tasks[v].made == made && !r.x.expanded(v) {
		r.x.Remade(v)
	}
}

// Adopt notes that an attempt of an earlier controller may go on: its outcome will come.
func (r *Run) Adopt(v int, a Attempt, kind Kind) {
	r.tasks[v].running, r.tasks[v].kind = a, kind
	if kind == Do && r.x.facts[v]&ended == 0 {
		r.x.move(v)
	}
	if r.x.facts[v]&(ended|drops) != 0 || r.x.expanded(v) || kind != Do {
		r.end(v)
	}
}

// Closed reports whether the run has ended, durably.
func (r *Run) Closed() bool { return r.closed }

// Step takes an event and returns what the host must do, in that order.
func (r *Run) Step(now time.Duration, ev RunEvent) []RunEffect {
	r.now = max(r.now, now)
	switch ev := ev.(type) {
	case Durable:
		for len(r.pending) > 0 && r.pending[0].number <= ev.Number {
			then := r.pending[0].then
			r.pending = r.pending[1:]
			for _, f := range then {
				f()
			}
		}
	case Outcome:
		r.looks = r.looks || len(r.lost) > 0 // it may be needed no more
		r.outcome(ev)
	case Checkpointed:
		r.checkpointed(ev)
	case Abort:
		r.fail(ev.Cause, Cancelled(ev))
	case Signal:
		r.signal(ev)
	case Resume:
		r.resume(ev)
	case Gone:
		if r.tasks[ev.Task].gen == ev.Gen && r.x.scope(ev.Task) != nil && !r.x.expanded(ev.Task) {
			r.x.Lost(ev.Task)
			r.looks = true
		}
	case Unsaved:
		if r.unsaved(ev) {
			r.write(ev, nil)
		}
	}
	if !r.over {
		r.advance()
	}
	r.flush()
	out := r.out
	r.out = nil
	return out
}

// Due returns when the Run has to hear of the time; false: it need not.
func (r *Run) Due() (at time.Duration, ok bool) {
	if r.over {
		return 0, false
	}
	return r.agenda.Due()
}

// wake has the Run look at a task once it may begin again.
func (r *Run) wake(v int) { r.agenda.Set(v, max(r.now, r.tasks[v].again)) }

func (r *Run) emit(e RunEffect) { r.out = append(r.out, e) }

// write makes a record durable, and then does what comes after.
func (r *Run) write(rec Record, then func()) {
	r.records = append(r.records, rec)
	if then != nil {
		r.then = append(r.then, then)
	}
}

func (r *Run) flush() {
	if len(r.records) == 0 {
		return
	}
	r.appended++
	r.emit(Append{Number: r.appended, Records: r.records})
	r.pending = append(r.pending, pendingAppend{r.appended, r.then})
	r.records, r.then = nil, nil
}

// advance does what can be done now. Of a large graph it does a part, and the rest as the Run next hears of the time, so that others have their turn.
func (r *Run) advance() {
	if r.failing != "" {
		for ok := true; ok; { // goBack looks at all that is due
			_, ok = r.agenda.Take(r.now)
		}
		r.goBack()
		return
	}
	r.recover()
	r.takeBack()
	if !r.looks {
		r.accepted()
	}
	for range mostLooks {
		for _, v := range r.x.Ready() {
			r.wake(v)
		}
		v, ok := r.agenda.Take(r.now)
		if !ok {
			break
		}
		r.look(v)
	}
	r.close()
}

// look begins what a task needs next, if it need not wait.
func (r *Run) look(v int) {
	t := &r.tasks[v]
	switch {
	case r.x.scope(v) == nil || r.x.expanded(v) || t.grows: // the tasks of the expansion go on
	case r.x.facts[v]&drops != 0 || !t.running.IsZero() || t.stuck: // takeBack or an outcome goes on
	case t.again > r.now:
		r.wake(v)
	case r.x.facts[v]&ended != 0:
		if r.x.saves(v) && !t.saving && r.x.facts[v]&(live|durable) == live {
			t.saving = true
			r.emit(Save{Task: v, Gen: t.gen, Made: t.made})
		}
	case t.undo && r.inputsThere(v):
		r.begin(v, TakeBack)
	case !t.undo && r.x.MayBegin(v) && r.x.Tasks[v].waits():
		r.await(v)
	case !t.undo && r.x.MayBegin(v):
		r.begin(v, Do)
	} // else Events tells when it may
}

// begin begins an attempt. One with an effect is dispatched after its record is durable.
func (r *Run) begin(v int, kind Kind) {
	t := &r.tasks[v]
	r.attempts++
	a := Attempt{Epoch: r.cfg.Epoch, Number: r.attempts}
	t.running, t.kind, t.ending = a, kind, false
	d := Dispatch{Task: v, Gen: t.gen, Attempt: a, Kind: kind}
	if kind == TakeBack {
		d.Fence = t.fence
		r.emit(d)
		return
	}
	if kind == Remake || kind == MakeUp {
		if kind == Remake {
			r.x.move(v)
		}
		r.emit(d)
		return
	}
	if r.failing == "" {
		r.x.Begun(v)
	} else {
		r.x.move(v)
	}
	t.fence = a
	if r.x.Tasks[v].Effect == None {
		r.write(Begun{Task: v, Gen: t.gen, Attempt: a}, nil)
		r.emit(d)
		return
	}
	r.write(Begun{Task: v, Gen: t.gen, Attempt: a}, func() {
		if t := &r.tasks[v]; t.running == a {
			if t.ending { // it was canceled before it began
				t.running = Attempt{}
				r.looks = r.x.Failed(v) || r.looks
				return
			}
			r.emit(d)
		}
	})
}

// inputsThere reports whether the inputs of a task can be had.
func (r *Run) inputsThere(v int) bool {
	return !slices.ContainsFunc(r.x.parents(v), func(p int32) bool { return !r.x.available(int(p)) })
}
