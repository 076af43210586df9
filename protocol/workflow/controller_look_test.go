package workflow

import (
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// A task with so many inputs that no message can tell an executor of them fails, and the run says which one.
func TestTooManyInputsForAMessage(t *testing.T) {
	d := started(t, "a; b; c < a b")
	d.c.mostInputs = 150
	for range 2 {
		n, o := d.order()
		d.reports(n, o, small, "")
	}
	d.durable()
	if len(d.orders) > 0 {
		t.Fatalf("it is sent: %+v", d.orders)
	}
	s := d.answer(d.call(GetStatus{ID: "r"})).Status
	if s.State != Finished && s.State != Ending || !strings.Contains(s.Why, "c") || !strings.Contains(s.Why, "2 inputs") || !strings.Contains(s.Why, "more than 150") {
		t.Errorf("the run is %v: %s", s.State, s.Why)
	}
}

// A status is at most a second old: a controller that was confirmed earlier asks whether its tenure goes on.
func TestStatusIsConfirmedEachSecond(t *testing.T) {
	d := started(t, "a")
	asks := func(c Call) (n int) {
		d.caller++
		for _, e := range d.c.Step(d.now, Called{Caller: d.caller, Call: c}) {
			if confirm, is := e.(Confirm); is {
				n++
				d.do(Confirmed(confirm))
			}
		}
		if _, is := d.answers[d.caller]; is != (n > 0) {
			t.Errorf("%T: %d questions, answered by them: %v", c, n, is)
		}
		return n
	}
	for _, c := range []Call{GetStatus{ID: "r"}, ListRuns{}, GetStatus{ID: "none"}} {
		d.after(2 * time.Second)
		if n := asks(c); n != 1 {
			t.Errorf("%T: it asks %d times", c, n)
		}
		d.after(time.Second)
		if n := asks(c); n != 0 {
			t.Errorf("%T: it asks again", c)
		}
	}
}

// A status says which tasks are at work, where, and why the last attempt has failed, until the task ends.
func TestTasksAtWork(t *testing.T) {
	d := started(t, "a; b; c; d < a")
	n, a := d.order()
	_, b := d.order()
	look := func() []AtWork { return d.answer(d.call(GetStatus{ID: "r", Tasks: true})).Status.Work }
	same := func(want ...AtWork) {
		t.Helper()
		got := look()
		if len(got) != len(want) {
			t.Fatalf("at work are %+v, want %+v", got, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("at work are %+v, want %+v", got, want)
			}
		}
	}
	same(AtWork{Task: 0, Node: "n1"}, AtWork{Task: 1, Node: "n1"}, AtWork{Task: 2, Ready: true})
	if d.answer(d.call(GetStatus{ID: "r"})).Status.Work != nil {
		t.Error("they are in a status that did not ask for them")
	}
	d.reports(n, b, Output{}, strings.Repeat("x", 2*mostHitch))
	d.durable()
	same(AtWork{Task: 0, Node: "n1"}, AtWork{Task: 1, Failed: 1, Why: strings.Repeat("x", mostHitch)}, AtWork{Task: 2, Node: "n1"})
	d.reports(n, a, small, "")
	d.durable()
	d.after(time.Second)
	_, c := d.order()
	d.order() // d: b waits for a slot
	for _, w := range look() {
		if w.Task == 0 || w.Task == 1 && (w.Failed != 1 || !w.Ready || w.Why == "") {
			t.Errorf("at work are %+v", look())
		}
	}
	d.reports(n, c, small, "")
	d.durable()
	_, b = d.order()
	d.reports(n, b, small, "")
	d.durable()
	if h := d.c.ids["r"]; len(h.hitches) != 0 {
		t.Errorf("the controller keeps why tasks have failed that have ended: %v", h.hitches)
	}
}

// The rows of a run can be read from its start until it is forgotten.
func TestReadRun(t *testing.T) {
	d := started(t, "a")
	u := UID{1, 1, 1}
	for _, c := range []struct {
		call      ReadRun
		from, end string
	}{
		{ReadRun{ID: "r"}, partKey(u, 0), runKey(u, "part0")},
		{ReadRun{ID: "r", From: 3}, partKey(u, 3), runKey(u, "part0")},
		{ReadRun{ID: "r", Log: true}, logKey(u, 0), runKey(u, "log0")},
		{ReadRun{ID: "r", Log: true, From: 1 << 60}, logKey(u, 1<<60), runKey(u, "log0")},
		{ReadRun{ID: "r", From: 1 << 60}, partKey(u, MaxTasks), runKey(u, "part0")},
	} {
		a := d.answer(d.call(c.call))
		if a.Err != nil || a.Run != u || a.Page == nil || a.Page.Key != c.from || a.Page.End != c.end || a.Page.Limit != mostPage {
			t.Errorf("%+v: %+v", c.call, a)
		}
	}
	n, o := d.order()
	d.reports(n, o, small, "")
	d.durable()
	if a := d.answer(d.call(ReadRun{ID: "r", Log: true})); a.Err != nil || a.Run != u {
		t.Errorf("of a run that has ended: %+v", a)
	}
	d.call(ForgetRun{ID: "r"})
	d.durable()
	d.refuses(d.call(ReadRun{ID: "r"}), phalanx.ErrNotFound, "no run")
	d.refuses(d.call(ReadRun{ID: "none", Log: true}), phalanx.ErrNotFound, `no run "none"`)
}

// Batches have the time by the ledger's clock, which goes on with the next controller.
func TestBatchesHaveTheTime(t *testing.T) {
	d := newDesk(t, 2, map[string]RowValue{"clock": Clock{Minute: 3}}, "n1")
	d.tells("n1", Tell{})
	d.durable()
	d.now += 2 * time.Second
	d.call(StartRun{ID: "r", Work: simple(t, "a")})
	d.durable()
	if b, is := d.rows[logKey(UID{1, 2, 1}, 1)].(Batch); !is || b.At != 3*time.Minute+2*time.Second {
		t.Errorf("the first batch is %+v", b)
	}
}

// No run begins on a disk that is nearly full. Runs that have begun go on, and can be attached to.
func TestAFullDisk(t *testing.T) {
	d := started(t, "a; b! < a")
	full := func(c Call) Caller {
		d.caller++
		d.do(Called{Caller: d.caller, Call: c, Full: true})
		return d.caller
	}
	d.refuses(full(StartRun{ID: "x", Work: simple(t, "a")}), phalanx.ErrNoSpace, "nearly full")
	d.refuses(d.call(AttachRun{ID: "x"}), phalanx.ErrNotFound, "no run")
	if a := d.answer(full(StartRun{ID: "r", Work: simple(t, "a; b! < a")})); a.Err != nil || a.Fresh {
		t.Errorf("%+v", a)
	}
	n, o := d.order()
	d.reports(n, o, small, "")
	d.durable()
	n, o = d.order()
	d.reports(n, o, small, "")
	d.durable()
	if a := d.answer(full(AwaitResult{ID: "r"})); a.Err != nil || a.Result == nil {
		t.Errorf("%+v", a)
	}
	c := d.call(StartRun{ID: "x", Work: simple(t, "a")})
	d.durable()
	if err := d.answer(c).Err; err != nil {
		t.Errorf("once there is space: %v", err)
	}
}
