package workflow

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// lostTask returns a desk with a task with an undo whose attempt runs on n1.
func lostTask(t *testing.T) (*desk, Order) {
	d := newDesk(t, 1, map[string]RowValue{}, "n1", "n2")
	d.tells("n1", Tell{})
	d.tells("n2", Tell{})
	d.durable()
	d.call(StartRun{ID: "r", Work: simple(t, "a u")})
	d.durable()
	n, o := d.order()
	if n != "n1" {
		t.Fatalf("it runs on %s", n)
	}
	return d, o
}

// The controller records that a node has left before its attempts count as lost. Otherwise a controller in an older view
// could hear from the node that an attempt has ended well, although its effect was taken back.
func TestThatANodeHasLeftIsDurableFirst(t *testing.T) {
	d, _ := lostTask(t)
	d.see("n2")
	d.after(time.Second)
	if len(d.orders) > 0 || published[AttemptLost](d) > 0 {
		t.Fatal("the attempt counts as lost")
	}
	d.durable()
	d.after(time.Second)
	if n, o := d.order(); n != "n2" || o.Kind != TakeBack {
		t.Errorf("%s gets %+v", n, o)
	}
	if d.rows["view"] != (Known{View: ViewNumber{1, 2}}) || d.rows["executor/n1"] != nil {
		t.Errorf("recorded are %v, %v", d.rows["view"], d.rows["executor/n1"])
	}
}

// A node that was recorded in a later view than the controller has may still have an attempt.
func TestARecordedNodeThatTheViewDoesNotHaveYet(t *testing.T) {
	d := newDesk(t, 1, map[string]RowValue{}, "n1")
	d.see("n1", "n2")
	d.tells("n2", Tell{})
	d.durable()
	d.call(StartRun{ID: "r", Work: simple(t, "a u")})
	d.durable()
	if n, _ := d.order(); n != "n2" {
		t.Fatalf("it runs on %s", n)
	}
	d = newDesk(t, 2, d.rows, "n1") // the first view
	d.tells("n1", Tell{})
	d.after(time.Second)
	d.durable()
	if d.c.ids["r"].held == nil {
		t.Fatal("the run does not wait for n2")
	}
	d.see("n1")
	d.durable()
	if d.c.ids["r"].held != nil || published[AttemptLost](d) != 1 {
		t.Error("the run does not go on once n2 has left")
	}
}

// An undo that an earlier controller has begun ends before the run goes on.
func TestAnUndoOfAnEarlierControllerEndsFirst(t *testing.T) {
	d, o := lostTask(t)
	d.reports("n1", o, Output{}, "it fails")
	d.after(time.Second)
	n, undo := d.order()
	if undo.Kind != TakeBack {
		t.Fatalf("it goes on with %+v", undo)
	}
	d = newDesk(t, 2, d.rows, "n1", "n2")
	for _, m := range []phalanx.NodeID{"n1", "n2"} {
		if m == n {
			d.tells(m, Tell{Running: []Running{{ID: undo.ID, Kind: TakeBack}}})
		} else {
			d.tells(m, Tell{})
		}
	}
	d.after(time.Second)
	if d.c.ids["r"].held == nil || count[Recall](d) == 0 {
		t.Fatal("the run does not wait for the undo")
	}
	undo.Epoch = 2
	d.reports(n, undo, Output{}, "canceled")
	if d.c.ids["r"].held != nil || len(d.orders) != 1 || d.orders[0].Message.(Order).Kind != TakeBack {
		t.Errorf("it goes on with %+v", d.orders)
	}
	if d.c.members[n].used != 1 {
		t.Errorf("%d slots are used", d.c.members[n].used)
	}
}

// The outcome of an attempt that ended between two controllers counts, once.
func TestAnOutcomeThatWasKeptCounts(t *testing.T) {
	d, o := lostTask(t)
	rows := d.rows
	d = newDesk(t, 2, rows, "n1", "n2")
	d.tells("n1", Tell{Ended: []Report{{Epoch: 2, ID: o.ID, Output: small}}})
	d.tells("n2", Tell{})
	if count[Acknowledge](d) > 0 {
		t.Error("it is acknowledged before it is durable")
	}
	d.durable()
	if n, _ := d.rows[idKey("r")].(Name); n.State != Finished || len(d.orders) > 0 || count[Acknowledge](d) != 1 {
		t.Errorf("the run is %+v", n)
	}
}

// keptInput returns the rows of a run whose first task has ended on n1, in memory only.
func keptInput(t *testing.T) (map[string]RowValue, Blob) {
	d, _ := lostTask(t)
	d.call(StartRun{ID: "x", Work: simple(t, "a nd,off; b < a; c < a")})
	d.durable()
	n, o := d.order()
	d.reports(n, o, Output{Size: 100_000}, "")
	d.durable()
	return d.rows, Blob{Run: o.ID.Run, Made: o.ID.Attempt}
}

// An output that a member still has is not made again. If the member leaves before the run goes on, it is.
func TestAnOutputThatAMemberHasIsNotMadeAgain(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		rows, b := keptInput(t)
		d := newDesk(t, 2, rows, "n1", "n2")
		d.tells("n2", Tell{Holds: []Blob{b}})
		if leaves {
			d.see("n1")
		}
		d.tells("n1", Tell{})
		d.durable()
		if made := published[RecoveryBegan](d) > 0; made != leaves {
			t.Errorf("n2 leaves %v: the output is made again %v", leaves, made)
		}
	}
}

// A member that has an output holds up the run that needs it.
func TestARunWaitsForAMemberThatMayHaveAnOutput(t *testing.T) {
	rows, b := keptInput(t)
	d := newDesk(t, 2, rows, "n1", "n2")
	d.tells("n1", Tell{})
	d.after(time.Second)
	if h := d.c.runs[b.Run]; h.held == nil {
		t.Fatal("the run does not wait")
	}
	d.tells("n2", Tell{Holds: []Blob{b}})
	if h := d.c.runs[b.Run]; h.held != nil || published[RecoveryBegan](d) > 0 {
		t.Error("the run does not go on with the output")
	}
}

// A run that has only its end to record ends well, also if it is canceled before it goes on.
func TestACancelThatComesTooLate(t *testing.T) {
	d, o := lostTask(t)
	d.reports("n1", o, small, "")
	d.durableTo(d.queue[0].Number)
	rows := d.rows
	d = newDesk(t, 2, rows, "n1", "n2")
	c := d.call(CancelRun{ID: "r", Cause: "too late"})
	d.tells("n1", Tell{})
	d.tells("n2", Tell{})
	d.waits(c)
	d.durable()
	d.refuses(c, phalanx.ErrClosed, "ended")
	if n := d.rows[idKey("r")].(Name); n.State != Finished || n.Why != "" {
		t.Errorf("it has ended as %+v", n)
	}
}

// A run that is loaded twice by one controller gives no attempt the name of another.
func TestARunThatIsLoadedAgainNamesAttemptsAnew(t *testing.T) {
	d, o := lostTask(t)
	d.reports("n1", o, Output{}, "it fails")
	seen := map[Attempt]bool{o.ID.Attempt: true}
	for range 3 {
		for range 5 {
			d.durable()
			d.after(time.Minute)
			for len(d.orders) > 0 {
				n, o := d.order()
				if seen[o.ID.Attempt] {
					t.Fatalf("%v is the name of two attempts", o.ID.Attempt)
				}
				seen[o.ID.Attempt] = true
				d.reports(n, o, Output{}, "it fails")
			}
		}
		d.durable()
		if len(d.c.runs) > 0 {
			t.Fatal("the run is not stuck")
		}
		d.call(ResumeRun{ID: "r"})
		d.tells("n1", Tell{})
		d.tells("n2", Tell{})
	}
}
