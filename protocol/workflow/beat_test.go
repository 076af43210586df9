package workflow

import (
	"fmt"
	"testing"
	"time"
)

// progressTold returns the progress in what an executor sends.
func progressTold(effects []ExecutorEffect) (all []string) {
	for _, e := range effects {
		if e, is := e.(ToController); is {
			switch m := e.Message.(type) {
			case Beaten:
				all = append(all, fmt.Sprintf("%d %s", m.ID.Task, m.Progress))
			case Report:
				all = append(all, fmt.Sprintf("ended %d %s", m.ID.Task, m.Progress))
			}
		}
	}
	return all
}

// The controller hears of progress at once, then once a second, and of the last as the attempt fails.
func TestAnExecutorTellsProgress(t *testing.T) {
	e := newExecuting(t)
	id := func(v int) AttemptID { return AttemptID{Task: v, Attempt: Attempt{3, 1}} }
	for v := range 2 {
		e.x.Step(0, Heard{"c", Order{Epoch: 3, Serial: uint64(v + 1), ID: id(v)}})
	}
	expect := func(now time.Duration, ev ExecutorEvent, want ...string) {
		t.Helper()
		if got := progressTold(e.x.Step(now, ev)); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("at %v: %v, want %v", now, got, want)
		}
	}
	expect(0, Beats{id(0), []byte("10")}, "0 10")
	expect(1, Beats{id(0), []byte("20")})
	expect(2, Beats{id(0), []byte("30")})
	if at, ok := e.x.Due(); !ok || at != beatPause {
		t.Error(at, ok)
	}
	expect(beatPause, Tick{}, "0 30")
	expect(3*beatPause, Beats{id(0), []byte("40")}, "0 40")
	expect(3*beatPause, Beats{id(9), []byte("x")})
	expect(3*beatPause, Beats{id(1), make([]byte, MaxProgress+1)})
	expect(3*beatPause, Heard{"d", Ask{Epoch: 4, Number: 1}}, "0 40") // it knows nothing
	expect(3*beatPause, Beats{id(0), []byte("50")})
	expect(3*beatPause, AttemptEnded{ID: id(0), Failed: "no"}, "ended 0 50")
	expect(3*beatPause, AttemptEnded{ID: id(1)}, "ended 1 ")
	if e.x.beats.Len() > 0 {
		t.Error("something is left")
	}
}

// The next attempt is given the progress of one that has failed, or whose node has left; after an end nothing is kept.
func TestTheNextAttemptIsGivenProgress(t *testing.T) {
	d := started(t, "a; b < a")
	d.see("n1", "n2")
	d.tells("n2", Tell{})
	d.durable()
	n, o := d.order()
	d.do(Heard{n, Beaten{Epoch: 1, ID: o.ID, Progress: []byte("10")}})
	d.do(Heard{n, Beaten{Epoch: 1, ID: AttemptID{Run: o.ID.Run, Task: 7}, Progress: []byte("x")}})
	d.do(Heard{n, Report{Epoch: 1, ID: o.ID, Gen: o.Gen, Failed: "no", Progress: []byte("20")}})
	d.durable()
	d.after(time.Second)
	n, o = d.order()
	if string(o.Progress) != "20" {
		t.Errorf("after a failure: %q", o.Progress)
	}
	d.do(Heard{n, Beaten{Epoch: 1, ID: o.ID, Progress: []byte("30")}})
	d.durable()
	d = newDesk(t, 2, d.rows, "n1", "n2")
	d.tells("n1", Tell{Running: []Running{{ID: o.ID, Gen: o.Gen}}})
	d.do(Heard{"n1", Beaten{Epoch: 2, ID: o.ID, Progress: []byte("40")}})
	d.tells("n2", Tell{})
	d.durable()
	d.after(time.Second)
	d.see("n2")
	d.durable()
	d.after(time.Second)
	if n, o = d.order(); n != "n2" || string(o.Progress) != "40" {
		t.Errorf("on %s after a node has left: %q", n, o.Progress)
	}
	d.reports(n, o, small, "")
	d.durable()
	if h := d.c.runs[o.ID.Run]; len(h.progress) > 0 || d.c.progress != 0 {
		t.Errorf("%d bytes are kept of a task that has ended", d.c.progress)
	}
	n, o = d.order()
	if o.Progress != nil {
		t.Errorf("the next task is given %q", o.Progress)
	}
	d.do(Heard{n, Beaten{Epoch: 2, ID: o.ID, Progress: []byte("50")}})
	d.reports(n, o, small, "")
	d.durable()
	if d.c.progress != 0 {
		t.Error("a run that has ended keeps progress")
	}
}

// Progress that is too much all together is not kept.
func TestProgressIsBounded(t *testing.T) {
	d := started(t, "a")
	n, o := d.order()
	d.c.progress = mostProgress - 2
	d.do(Heard{n, Beaten{Epoch: 1, ID: o.ID, Progress: []byte("12")}})
	d.do(Heard{n, Beaten{Epoch: 1, ID: o.ID, Progress: []byte("123")}})
	if h := d.c.runs[o.ID.Run]; len(h.progress) != 0 || d.c.progress != mostProgress-2 {
		t.Errorf("%v, %d", h.progress, d.c.progress)
	}
}

// An executor names the runs of which its node has something each hour, but for those of which something goes on.
func TestAnExecutorNamesRuns(t *testing.T) {
	e := &executing{t, NewExecutor(Offer{Slots: 2})}
	e.x.Step(0, Heard{"c", Ask{Epoch: 3, Number: 1}})
	u, runs := UID{1, 1, 1}, UID{1, 1, 2}
	e.x.Step(0, Heard{"c", Order{Epoch: 3, Serial: 1, ID: AttemptID{Run: runs}}})
	at, ok := e.x.Due()
	if !ok || at != censusPause {
		t.Fatal(at, ok)
	}
	if got := e.x.Step(at, Tick{}); len(got) != 1 || got[0] != (Census{}) {
		t.Fatalf("%+v", got)
	}
	got := e.x.Step(at, Kept{[]UID{u, runs}})
	if k, is := got[0].(ToController).Message.(Keeps); len(got) != 1 || !is || fmt.Sprint(k.Runs) != fmt.Sprint([]UID{u}) {
		t.Errorf("%+v", got)
	}
	if next, _ := e.x.Due(); next != 2*censusPause {
		t.Error(next)
	}
	asked := Heard{"c", Ask{Epoch: 3, Number: 2, Only: u}} // the run has slept
	if got := e.x.Step(at, asked); len(got) != 2 || got[1] != (Census{Only: u}) {
		t.Errorf("%+v", got)
	}
	e = &executing{t, NewExecutor(Offer{Slots: 2, Again: true})} // its process has had objects of runs before
	e.x.Step(0, Heard{"c", Ask{Epoch: 3, Number: 1}})
	if at, ok = e.x.Due(); !ok || at != againPause {
		t.Error(at, ok)
	}
	e.x.Step(at, Tick{})
	if next, _ := e.x.Due(); next != at+censusPause {
		t.Error(next)
	}
}

// An attempt is not given the progress of a generation that was dropped.
func TestProgressOfADroppedGenerationIsNotGiven(t *testing.T) {
	d := started(t, "a")
	_, o := d.order()
	h := d.c.runs[o.ID.Run]
	d.c.setProgress(h, 0, []byte("10"))
	if got := h.progressOf(0); string(got) != "10" {
		t.Errorf("%q", got)
	}
	h.run.tasks[0].gen++
	if got := h.progressOf(0); got != nil {
		t.Errorf("%q of the generation before", got)
	}
}
