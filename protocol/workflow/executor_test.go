package workflow

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// executing is an executor with a script: each step says what goes in and what has to come out.
type executing struct {
	t *testing.T
	x *Executor
}

func newExecuting(t *testing.T) *executing {
	e := &executing{t, NewExecutor(Offer{Slots: 2, Functions: []Function{{"f", 1}}, Disk: "d"})}
	e.hears(0, Ask{Epoch: 3, Number: 1}, "tell 1/1: runs 0, ended 0, holds 0")
	e.x.census = 0 // TestAnExecutorNamesRuns has it
	return e
}

func (e *executing) hears(now time.Duration, m Message, want ...string) {
	e.t.Helper()
	e.step(now, Heard{"controller", m}, want...)
}

func (e *executing) step(now time.Duration, ev ExecutorEvent, want ...string) {
	e.t.Helper()
	var got []string
	for _, f := range e.x.Step(now, ev) {
		got = append(got, describe(f))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		e.t.Errorf("after %T at %v it does %q, want %q", ev, now, got, want)
	}
}

func describe(e ExecutorEffect) string {
	switch e := e.(type) {
	case RunAttempt:
		return fmt.Sprintf("run %d", e.Order.ID.Task)
	case CancelAttempt:
		return fmt.Sprintf("cancel %d", e.ID.Task)
	case SaveBlob:
		return fmt.Sprintf("save %d", e.Blob.Task)
	case Free:
		return fmt.Sprintf("free %d", len(e.Runs))
	case EndProcess:
		return "end the process"
	case ToController:
		switch m := e.Message.(type) {
		case Tell:
			return fmt.Sprintf("tell %d/%d: runs %d, ended %d, holds %d", m.Part+1, m.Parts, len(m.Running), len(m.Ended), len(m.Holds))
		case Taken:
			return fmt.Sprintf("taken %d", m.ID.Task)
		case Busy:
			return fmt.Sprintf("busy %d", m.ID.Task)
		case Report:
			return fmt.Sprintf("report %d in %d %s", m.ID.Task, m.Epoch, m.Failed)
		case BlobWritten:
			return fmt.Sprintf("written %d %s", m.Blob.Task, m.Failed)
		case Freed:
			return fmt.Sprintf("freed %d", m.Serial)
		}
	}
	return fmt.Sprintf("%T", e)
}

func id(v int) AttemptID {
	return AttemptID{Run: UID{1, 1, 1}, Task: v, Attempt: Attempt{3, uint64(v)}}
}

func orderOf(epoch uint64, v int) Order {
	return Order{Epoch: epoch, Serial: uint64(v), ID: id(v), Made: id(v).Attempt}
}

// An executor that has answered an epoch takes nothing of a lower one.
func TestAnExecutorTakesNothingOfAnOldEpoch(t *testing.T) {
	e := newExecuting(t)
	e.hears(0, orderOf(3, 1), "run 1", "taken 1")
	e.hears(0, Ask{Epoch: 4, Number: 1}, "tell 1/1: runs 1, ended 0, holds 0")
	e.hears(0, orderOf(3, 2))
	e.hears(0, Recall{Epoch: 3, Serial: 1, ID: id(1)})
	e.hears(0, Release{Epoch: 3, Runs: []Released{{Run: id(1).Run}}})
	e.hears(0, Ask{Epoch: 3, Number: 9})
	e.hears(0, orderOf(5, 2)) // no controller sends it before the answer to its Ask
	e.hears(0, orderOf(4, 2), "run 2", "taken 2")
}

// An order that comes again begins nothing, also after the report of its attempt is forgotten.
func TestAnOrderIsTakenOnce(t *testing.T) {
	e := newExecuting(t)
	e.hears(0, orderOf(3, 2), "run 2", "taken 2") // before the first
	e.hears(0, orderOf(3, 2), "taken 2")
	e.step(0, AttemptEnded{ID: id(2)}, "report 2 in 3 ")
	e.hears(0, orderOf(3, 2), "report 2 in 3 ")
	e.hears(0, Acknowledge{Epoch: 3, IDs: []AttemptID{id(2)}})
	e.hears(0, orderOf(3, 2))
	e.hears(0, orderOf(3, 1), "run 1", "taken 1")
	e.hears(0, orderOf(3, 2))
	if len(e.x.seen.more) > 0 {
		t.Errorf("it remembers %v beside all up to %d", e.x.seen.more, e.x.seen.all)
	}
}

// A recall that comes before its order keeps the attempt from beginning.
func TestARecallThatComesFirst(t *testing.T) {
	e := newExecuting(t)
	e.hears(0, Recall{Epoch: 3, Serial: 1, ID: id(1)}, "report 1 in 3 it was canceled before it began")
	e.hears(0, Acknowledge{Epoch: 3, IDs: []AttemptID{id(1)}})
	e.hears(0, orderOf(3, 1))
	e.hears(0, orderOf(3, 2), "run 2", "taken 2")
	e.hears(0, Recall{Epoch: 3, Serial: 2, ID: id(2)}, "cancel 2")
	e.hears(0, Recall{Epoch: 3, Serial: 2, ID: id(2)})
}

// A report is repeated until it is acknowledged, to the controller that has asked last.
func TestAReportIsRepeated(t *testing.T) {
	e := newExecuting(t)
	e.hears(0, orderOf(3, 1), "run 1", "taken 1")
	e.step(0, AttemptEnded{ID: id(1)}, "report 1 in 3 ")
	at, ok := e.x.Due()
	if !ok || at != 50*time.Millisecond {
		t.Fatalf("it is repeated at %v, %v", at, ok)
	}
	e.step(at-1, Tick{})
	e.step(at, Tick{}, "report 1 in 3 ")
	e.hears(at, Ask{Epoch: 4, Number: 1}, "tell 1/1: runs 0, ended 1, holds 1")
	at, _ = e.x.Due()
	e.step(at, Tick{}, "report 1 in 4 ")
	e.hears(at, Acknowledge{Epoch: 3, IDs: []AttemptID{id(1)}})
	e.hears(at, Acknowledge{Epoch: 4, IDs: []AttemptID{id(1)}})
	if e.x.repeats.Len() > 0 || len(e.x.ended) > 0 || e.x.bytes != 0 {
		t.Error("it keeps a report that was acknowledged")
	}
}

// Before a controller has asked, an executor takes nothing.
func TestAnExecutorThatNobodyHasAsked(t *testing.T) {
	e := &executing{t, NewExecutor(Offer{Slots: 1})}
	e.hears(0, orderOf(0, 1))
	e.hears(0, orderOf(1, 1))
	e.hears(0, Ask{Epoch: 1, Number: 1}, "tell 1/1: runs 0, ended 0, holds 0")
}

// An executor that keeps as many reports as it may says that it is busy, and takes the order later.
func TestAnExecutorIsBusy(t *testing.T) {
	e := newExecuting(t)
	for v := range MaxKept {
		e.hears(0, orderOf(3, v+1), fmt.Sprintf("run %d", v+1), fmt.Sprintf("taken %d", v+1))
		e.step(0, AttemptEnded{ID: id(v + 1), Failed: "x"}, fmt.Sprintf("report %d in 3 x", v+1))
	}
	next := MaxKept + 1
	e.hears(0, orderOf(3, next), fmt.Sprintf("busy %d", next))
	e.hears(0, Acknowledge{Epoch: 3, IDs: []AttemptID{id(7)}})
	e.hears(0, orderOf(3, next), fmt.Sprintf("run %d", next), fmt.Sprintf("taken %d", next))
}

// A large answer comes in parts of one moment, also if a question comes again.
func TestAnAnswerInParts(t *testing.T) {
	e := newExecuting(t)
	for v := range mostTold + 10 {
		e.step(0, Stored{Blob{Run: UID{1, 1, 1}, Task: v}})
	}
	e.hears(0, Ask{Epoch: 3, Number: 2}, fmt.Sprintf("tell 1/2: runs 0, ended 0, holds %d", mostTold))
	e.step(0, Dropped{Blob{Run: UID{1, 1, 1}, Task: 3}})
	e.hears(0, Ask{Epoch: 3, Number: 2}, fmt.Sprintf("tell 1/2: runs 0, ended 0, holds %d", mostTold))
	e.hears(0, Ask{Epoch: 3, Number: 1})
	e.hears(0, Ask{Epoch: 3, Number: 2, Part: 1}, "tell 2/2: runs 0, ended 0, holds 10")
	e.hears(0, Ask{Epoch: 3, Number: 2, Part: 2})
	e.hears(0, Ask{Epoch: 3, Number: 3, Only: UID{1, 1, 2}}, "tell 1/1: runs 0, ended 0, holds 0", "workflow.Census")
	e.hears(0, Release{Epoch: 3, Serial: 1, Runs: []Released{{Run: UID{1, 1, 1}}}}, "free 1", "freed 1")
	e.hears(0, Ask{Epoch: 3, Number: 4}, "tell 1/1: runs 0, ended 0, holds 0")
}

// A checkpoint is written once at a time, and answered each time that it is asked for.
func TestACheckpointIsWritten(t *testing.T) {
	e := newExecuting(t)
	b := Blob{Run: UID{1, 1, 1}, Task: 5}
	e.hears(0, WriteBlob{Epoch: 3, Blob: b}, "save 5")
	e.hears(0, WriteBlob{Epoch: 3, Blob: b})
	e.step(0, BlobSaved{Blob: b}, "written 5 ")
	e.hears(0, WriteBlob{Epoch: 3, Blob: b}, "save 5") // its answer was lost
	e.step(0, BlobSaved{Blob: b, Failed: "no space"}, "written 5 no space")
	e.step(0, BlobSaved{Blob: b})
}

// An attempt is ended 6 s after the node's lease has, and one that goes on after 10 s ends the process.
func TestAnAttemptThatOutlivesItsLease(t *testing.T) {
	e := newExecuting(t)
	e.step(0, Leased{Until: time.Second})
	if _, ok := e.x.Due(); ok {
		t.Error("it has to hear of the time, and nothing runs")
	}
	e.hears(0, orderOf(3, 1), "run 1", "taken 1")
	e.step(time.Second, Leased{Until: 2 * time.Second})
	e.step(time.Second, Leased{Until: time.Second}) // a late one
	for _, at := range []struct {
		due   time.Duration
		wants []string
	}{{7 * time.Second, nil}, {8 * time.Second, []string{"cancel 1"}}, {12 * time.Second, []string{"end the process"}}} {
		if due, ok := e.x.Due(); !ok || due != at.due {
			t.Fatalf("it looks at %v, %v, want %v", due, ok, at.due)
		}
		e.step(at.due-1, Tick{})
		e.step(at.due, Tick{}, at.wants...)
	}
	e.step(12*time.Second, AttemptEnded{ID: id(1)})
}

// An executor whose host was held up for long reads what has come before it ends attempts, and gives them the time to end before
// it ends the process.
func TestAnExecutorThatWasHeldUpReadsFirst(t *testing.T) {
	e := newExecuting(t)
	e.step(0, Leased{Until: time.Second})
	e.hears(0, orderOf(3, 1), "run 1", "taken 1")
	e.step(time.Minute, Tick{})
	e.step(time.Minute, Leased{Until: time.Minute + 1}) // it was in the mailbox
	if at, ok := e.x.Due(); !ok || at != time.Minute+1+leaseWait {
		t.Fatalf("with a lease it looks at %v, %v", at, ok)
	}
	e.step(2*time.Minute, Tick{})
	e.step(2*time.Minute+leaseRead, Tick{}, "cancel 1")
	e.hears(2*time.Minute+leaseRead, orderOf(3, 2), "busy 2")
	e.step(2*time.Minute+leaseRead+leaseFaint-1, Tick{})
	e.step(2*time.Minute+leaseRead+leaseFaint, Tick{}, "end the process")
}

// An attempt that ends as the node has no lease has not failed, and does not end the process; with a lease the node goes on.
func TestAnAttemptThatEndsWithoutALeaseIsLost(t *testing.T) {
	e := newExecuting(t)
	e.step(0, Leased{Until: time.Second})
	e.hears(0, orderOf(3, 1), "run 1", "taken 1")
	e.step(6*time.Second, Tick{})
	e.step(7*time.Second, Tick{}, "cancel 1")
	x := e.x.Step(8*time.Second, AttemptEnded{ID: id(1), Failed: "canceled", Final: true})
	if r, is := x[0].(ToController).Message.(Report); !is || !r.Lost || r.Final {
		t.Errorf("it reports %+v", x[0])
	}
	e.x.Step(8*time.Second, Heard{"c", Acknowledge{Epoch: 3, IDs: []AttemptID{id(1)}}})
	e.step(time.Minute, Tick{})
	e.step(time.Minute, Leased{Until: 2 * time.Minute})
	e.hears(time.Minute, orderOf(3, 2), "run 2", "taken 2")
	x = e.x.Step(time.Minute, AttemptEnded{ID: id(2), Failed: "no"})
	if r, is := x[0].(ToController).Message.(Report); !is || r.Lost {
		t.Errorf("it reports %+v", x[0])
	}
}

// A node that has run nothing for long, and so has no lease, gets one for its next attempt: that does not outlive it at once.
func TestExecutorBeginsWithoutALease(t *testing.T) {
	e := newExecuting(t)
	e.step(0, Leased{Until: time.Second})
	id := AttemptID{Run: UID{1, 1, 1}, Task: 1, Attempt: Attempt{3, 1}}
	e.hears(time.Hour, Order{Epoch: 3, Serial: 1, ID: id}, "run 1", "taken 1")
	e.step(time.Hour+leaseWait-1, Tick{})
	e.step(time.Hour+leaseWait, Tick{})
	e.step(time.Hour+leaseWait+leaseRead, Tick{}, "cancel 1")
}

// The names of the objects in a result go with each repeat of its report: a report has no more of them than are recorded.
func TestAReportWithTheNamesOfManyObjects(t *testing.T) {
	e := newExecuting(t)
	for v, k := range map[int]int{1: 10, 2: 100_000} {
		var names []string
		for i := range k {
			names = append(names, fmt.Sprintf("wf/run/1/object-%06d", i))
		}
		e.hears(0, orderOf(3, v), fmt.Sprintf("run %d", v), fmt.Sprintf("taken %d", v))
		e.step(0, AttemptEnded{ID: id(v), Output: Output{Names: names}}, fmt.Sprintf("report %d in 3 ", v))
		if got := e.x.ended[id(v)].report.Output.Names; k == 10 && len(got) != 10 || k > 10 && !slices.Equal(got, []string{""}) {
			t.Errorf("the report of a result with %d objects has %d names", k, len(got))
		}
	}
}
