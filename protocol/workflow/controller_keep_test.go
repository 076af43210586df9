package workflow

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx"
)

// closedRun returns a desk with a run that has ended.
func closedRun(t *testing.T) *desk {
	d := started(t, "a")
	n, o := d.order()
	d.reports(n, o, small, "")
	d.durable()
	return d
}

// The result of a run is answered once it is durable, to those that wait and to others. Members release
// their copies of the run's outputs.
func TestAResultIsDurable(t *testing.T) {
	d := started(t, "a")
	early := d.call(AwaitResult{ID: "r"})
	gone := d.call(AwaitResult{ID: "r"})
	d.do(Withdrawn{gone})
	n, o := d.order()
	d.reports(n, o, small, "")
	for len(d.queue) > 0 {
		d.waits(early)
		d.durableTo(d.queue[0].Number)
	}
	late := d.call(AwaitResult{ID: "r"})
	for _, c := range []Caller{early, late} {
		r := d.answer(c).Result
		if r == nil || r.Failed != "" || len(r.Outputs) != 1 || string(r.Outputs[0].Output.Bytes) != "12345678" {
			t.Errorf("the result is %+v", r)
		}
	}
	d.refuses(d.call(CancelRun{ID: "r"}), phalanx.ErrClosed, "ended")
	if _, is := d.answers[gone]; is || len(d.c.watchers) > 0 || len(d.c.calls) > 0 {
		t.Error("calls are left")
	}
	if count[Release](d) != 1 {
		t.Error("members keep what they have of the run")
	}
}

// A call that waits for the end is answered ErrDeadline after its patience.
func TestACallHasAnEnd(t *testing.T) {
	d := started(t, "a")
	c := d.call(AwaitResult{ID: "r"})
	d.after(mostPatience - 1)
	d.waits(c)
	d.after(1)
	d.refuses(c, phalanx.ErrDeadline, "not ended")
	if len(d.c.watchers) > 0 {
		t.Error("it waits for ever")
	}
	for range MaxAwaits {
		d.call(AwaitResult{ID: "r"})
	}
	d.refuses(d.call(AwaitResult{ID: "r"}), phalanx.ErrUnavailable, "busy")
	c = d.call(CancelRun{ID: "r"}) // those who wait do not keep it from ending
	d.durable()
	if err := d.answer(c).Err; err != nil {
		t.Error(err)
	}
}

// A run that has ended is forgotten after 7 days of leaders' minutes, or when somebody says so. Then its id stays for 20
// minutes.
func TestRunsAreForgotten(t *testing.T) {
	d := started(t, "a!")
	d.refuses(d.call(ForgetRun{ID: "r"}), phalanx.ErrInvalid, "not ended")
	n, o := d.order()
	d.reports(n, o, small, "")
	d.durable()
	c := d.call(ForgetRun{ID: "r"})
	during := d.call(StartRun{ID: "r", Work: simple(t, "a!")})
	d.waits(c)
	d.waits(during)
	d.durable()
	if d.answer(c).Err != nil {
		t.Fatal(d.answer(c).Err)
	}
	d.refuses(during, phalanx.ErrDeleted, "forgotten")
	d.refuses(d.call(AttachRun{ID: "r"}), phalanx.ErrDeleted, "forgotten")
	for range tombstone - 1 {
		d.after(minute)
		d.durable()
	}
	d.refuses(d.call(StartRun{ID: "r", Work: simple(t, "a!")}), phalanx.ErrDeleted, "forgotten")
	d.after(minute)
	d.durable()
	for k := range d.rows {
		if k != "clock" && !strings.HasPrefix(k, "executor/") {
			t.Errorf("%s is left", k)
		}
	}
	c = d.call(StartRun{ID: "r", Work: simple(t, "a!")})
	d.durable()
	if a := d.answer(c); a.Err != nil || a.Run != (UID{1, 1, 2}) {
		t.Errorf("the id cannot be used again: %+v", a)
	}
}

func TestRetention(t *testing.T) {
	d := closedRun(t)
	d.c.minutes = retention // the first minute was 0
	d.c.minutes--
	if a := d.answer(d.call(StartRun{ID: "r", Key: "me", Work: simple(t, "a")})); !a.Fresh || a.Err != nil {
		t.Errorf("it is not known any more: %+v", a)
	}
	d.refuses(d.call(StartRun{ID: "r", Work: simple(t, "a; b")}), phalanx.ErrMismatch, "2 tasks")
	d.after(minute)
	d.durable()
	d.refuses(d.call(AttachRun{ID: "r"}), phalanx.ErrNotFound, "no run")
	if len(d.rows) != 2 { // the clock and the member
		t.Errorf("%v is left", slices.Collect(maps.Keys(d.rows)))
	}
}

// List has the runs with a prefix, in pages.
func TestList(t *testing.T) {
	d := newDesk(t, 1, map[string]RowValue{})
	for _, id := range []string{"a/1", "a/2", "a/3", "b/1"} {
		d.call(StartRun{ID: id, Work: simple(t, "a")})
	}
	d.durable()
	list := func(l ListRuns) (ids string) {
		for _, r := range d.answer(d.call(l)).List {
			ids += r.ID + " "
		}
		return ids
	}
	for want, l := range map[string]ListRuns{"a/1 a/2 a/3 ": {Prefix: "a/"}, "a/1 a/2 ": {Prefix: "a/", Limit: 2}, "a/3 ": {Prefix: "a/", After: "a/2"}, "a/1 a/2 a/3 b/1 ": {}} {
		if got := list(l); got != want {
			t.Errorf("%+v has %s, want %s", l, got, want)
		}
	}
}
