package workflow

import (
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// A member gets its first attempt after it is recorded: the next controller knows whom to wait for.
func TestAMemberIsRecordedFirst(t *testing.T) {
	d := newDesk(t, 1, map[string]RowValue{}, "n1")
	d.call(StartRun{ID: "r", Work: simple(t, "a")})
	d.durable()
	d.tells("n1", Tell{})
	if len(d.orders) > 0 {
		t.Error("it gets an attempt before it is recorded")
	}
	d.durable()
	d.order()
	if _, is := d.rows["executor/n1"]; !is {
		t.Error("it is not recorded")
	}
}

// An attempt with an effect is sent after its record is durable, one without at once. A report is acknowledged
// once what follows from it is durable.
func TestRecordsComeFirst(t *testing.T) {
	d := started(t, "a; b! < a")
	n, o := d.order()
	d.reports(n, o, small, "")
	d.reports(n, o, small, "") // it comes again meanwhile
	if count[Acknowledge](d) > 0 || len(d.orders) > 0 {
		t.Fatal("it goes on before the output is durable")
	}
	d.durable()
	if count[Acknowledge](d) != 1 {
		t.Errorf("the report is acknowledged %d times", count[Acknowledge](d))
	}
	_, b := d.order()
	if len(b.Inputs) != 1 || string(b.Inputs[0].Output.Bytes) != "12345678" || b.Key(false) != (UID{1, 1, 1}).String()+"/1" {
		t.Errorf("it is sent %+v", b)
	}
	d.reports(n, o, small, "")
	if count[Acknowledge](d) != 2 {
		t.Error("a report that is not known any more is not acknowledged")
	}
}

// Nothing is dispatched while a Write waits for two seconds.
func TestAStalledLedger(t *testing.T) {
	d := started(t, "a; b; c; d")
	n, o := d.order()
	d.order()
	d.call(StartRun{ID: "x", Work: simple(t, "a!")})
	d.after(stallAfter)
	before := len(d.orders)
	d.reports(n, o, small, "x") // a slot is free
	if len(d.orders) != before {
		t.Error("something is dispatched")
	}
	d.durable()
	if len(d.orders) == before {
		t.Error("it does not go on")
	}
}

// A tenure that is refused answers all calls, and does nothing more.
func TestARefusedTenureEnds(t *testing.T) {
	d := started(t, "a")
	waits := d.call(AwaitResult{ID: "r"})
	starts := d.call(StartRun{ID: "x", Work: simple(t, "a")})
	d.do(Refused{})
	for _, c := range []Caller{waits, starts, d.call(AttachRun{ID: "r"})} {
		d.refuses(c, phalanx.ErrUnavailable, "tenure")
	}
	before := len(d.sent)
	d.queue = nil
	d.after(time.Hour)
	if _, ok := d.c.Due(); ok || len(d.sent) != before || len(d.queue) > 0 {
		t.Error("it goes on")
	}
}

// A silent member holds up a run of which an attempt may be there, and no other. Once it has left, durably, the
// attempt is lost.
func TestASilentMemberHoldsUpOnlyRunsThatMayBeThere(t *testing.T) {
	d := newDesk(t, 1, map[string]RowValue{}, "n1", "n2")
	d.tells("n1", Tell{})
	d.tells("n2", Tell{})
	d.durable()
	d.call(StartRun{ID: "r1", Work: simple(t, "a!")})
	d.call(StartRun{ID: "r2", Work: simple(t, "a!")})
	d.durable()
	d.call(StartRun{ID: "r3", Work: simple(t, "a")})
	d.durable()
	n1, o1 := d.order()
	n2, o2 := d.order()
	_, o3 := d.order()
	if n1 != "n1" || n2 != "n2" {
		t.Fatal(n1, n2)
	}
	d = newDesk(t, 2, d.rows, "n1", "n2")
	ids := []string{"r1", "r2", "r3"}
	held := func(want ...bool) {
		t.Helper()
		for i, id := range ids {
			if h := d.c.ids[id]; h == nil || (h.held != nil) != want[i] {
				t.Errorf("%s: held %v, want %v", id, !want[i], want[i])
			}
		}
	}
	d.tells("n1", Tell{Running: []Running{{ID: o1.ID}, {ID: o3.ID}}})
	held(true, true, true)
	d.after(takeoverGrace)
	held(false, true, false)
	if len(d.orders) > 0 {
		t.Errorf("it begins again %+v", d.orders)
	}
	d.see("n1")
	held(false, true, false)
	d.durable()
	held(false, false, false)
	if published[AttemptLost](d) != 1 {
		t.Error("people do not hear of the lost attempt")
	}
	d.reports("n1", Order{Epoch: 2, ID: o1.ID}, small, "")
	d.durable()
	if _, o := d.order(); o.ID.Run != o2.ID.Run || o.ID.Attempt == o2.ID.Attempt {
		t.Errorf("it begins %+v", o)
	}
	if h := d.c.ids["r1"]; h != nil {
		t.Error("the outcome of the attempt that was found does not count")
	}
}

// A view that is older than one by which a node has left is not taken.
func TestAnOlderViewIsNotTaken(t *testing.T) {
	d := newDesk(t, 1, map[string]RowValue{}, "n1", "n2")
	d.tells("n2", Tell{})
	d.durable()
	d.see("n1")
	d.durable()
	rows := d.rows
	d = newDesk(t, 2, rows, "n1", "n2") // as view 1
	if len(d.c.members) > 0 {
		t.Error("n2 is a member again")
	}
	d.see("n1")
	if d.c.members["n1"] == nil || d.c.members["n2"] != nil {
		t.Error("the present view is not taken")
	}
}

// A checkpoint goes to two disks, and is recorded once both have it.
func TestACheckpointGoesToTwoDisks(t *testing.T) {
	d := newDesk(t, 1, map[string]RowValue{}, "n1", "n2", "n3")
	for _, n := range []phalanx.NodeID{"n1", "n2", "n3"} {
		d.tells(n, Tell{Disk: "disk of " + string(n)})
	}
	d.durable()
	d.call(StartRun{ID: "r", Work: simple(t, "a")})
	d.durable()
	n, o := d.order()
	d.reports(n, o, Output{Size: 1 << 20}, "")
	d.durable()
	asked := func() (all []Send) {
		for _, s := range d.sent {
			if _, is := s.Message.(WriteBlob); is {
				all = append(all, s)
			}
		}
		d.sent = nil
		return all
	}
	all := asked()
	if len(all) != 2 || all[0].To == all[1].To || !all[0].Message.(WriteBlob).Result {
		t.Fatalf("%+v", all)
	}
	b := all[0].Message.(WriteBlob).Blob
	d.do(Heard{all[0].To, BlobWritten{Epoch: 1, Blob: b, Disk: "disk of " + string(all[0].To)}})
	d.do(Heard{all[0].To, BlobWritten{Epoch: 1, Blob: b, Disk: "disk of " + string(all[0].To)}})
	if len(d.queue) > 0 {
		t.Fatal("it is saved with one copy")
	}
	d.do(Heard{all[1].To, BlobWritten{Epoch: 1, Blob: b, Failed: "no space"}})
	if published[CheckpointFailed](d) != 1 {
		t.Fatal("people do not hear that it has failed")
	}
	d.after(100 * time.Millisecond)
	all = asked()
	if len(all) != 2 {
		t.Fatalf("it is made again on %v", all)
	}
	for _, s := range all {
		d.do(Heard{s.To, BlobWritten{Epoch: 1, Blob: b, Disk: "disk of " + string(s.To)}})
	}
	d.durable()
	p, _ := d.rows[blobKey(b.Run, 0, 0)].(Places)
	if len(p.Disks) != 2 || p.Blob != b || d.c.ids["r"] != nil {
		t.Errorf("its places are %+v", p)
	}
	if r := d.rows[resultKey(b.Run, 0)].(Result); len(r.Outputs) != 1 || len(r.Outputs[0].Disks) != 2 {
		t.Errorf("the result is %+v", r)
	}
}

// A large output has a row of its own, before the record that names it, and leaves the memory once it is durable.
func TestALargeOutputHasARow(t *testing.T) {
	d := started(t, "a; b! < a")
	n, o := d.order()
	d.reports(n, o, Output{Size: 1000, Recorded: true, Bytes: make([]byte, 1000)}, "")
	d.durable()
	_, b := d.order()
	l := b.Inputs[0]
	if out, is := d.rows[l.Row].(OutputBytes); !is || len(out.Bytes) != 1000 || l.Output.Bytes != nil {
		t.Errorf("the input is %+v", l)
	}
	d = newDesk(t, 2, d.rows, "n1")
	if h := d.c.ids["r"]; h.run.tasks[0].output.Bytes != nil || h.locate(0).Row != l.Row {
		t.Error("the next controller does not know where it is")
	}
}

// Records that do not fit into a Write mean nothing until all are there.
func TestALargeBatchIsCut(t *testing.T) {
	d := newDesk(t, 1, map[string]RowValue{}, "n1")
	d.call(StartRun{ID: "r", Work: simple(t, "z!"+strings.Repeat("; a!", 10_000))})
	if len(d.queue) < 2 {
		t.Fatalf("there are %d writes", len(d.queue))
	}
	d.queue = d.queue[:len(d.queue)-1]
	d.durable()
	d = newDesk(t, 2, d.rows)
	h := d.c.ids["r"]
	if h == nil || published[AttemptLost](d) > 0 {
		t.Fatal("a part of a batch counts")
	}
	d.durable()
	d = newDesk(t, 3, d.rows)
	if n := published[AttemptLost](d); n != 10_001 {
		t.Errorf("of the batches of the second controller %d records count", n)
	}
}

// A run that is stuck leaves the memory. The next controller does not scan it; a resume loads it, with the versions
// that it gives.
func TestARunThatOnlyWaits(t *testing.T) {
	d := newDesk(t, 1, map[string]RowValue{}, "n1")
	d.tells("n1", Tell{Functions: []Function{{"f", 1}, {"f", 2}}})
	d.durable()
	d.call(StartRun{ID: "r", Work: simple(t, "a u; b < a")})
	d.durable()
	n, o := d.order()
	d.reports(n, o, Output{}, "it fails")
	for range 4 { // its undo fails, too
		d.after(time.Minute)
		d.durable()
		if len(d.orders) > 0 {
			n, o = d.order()
			d.reports(n, o, Output{}, "it fails")
		}
	}
	d.durable()
	if len(d.c.runs) > 0 || published[RunStuck](d) != 1 {
		t.Fatalf("%d runs are in memory, %d are stuck", len(d.c.runs), published[RunStuck](d))
	}
	if s := d.answer(d.call(GetStatus{ID: "r"})).Status; s.State != Waiting || !strings.Contains(s.Why, "it fails") {
		t.Errorf("its status is %+v", s)
	}
	waits := d.call(AwaitResult{ID: "r"})
	d.waits(waits)
	d = newDesk(t, 2, d.rows, "n1")
	if len(d.c.runs) > 0 {
		t.Error("the next controller scans it")
	}
	d.tells("n1", Tell{Functions: []Function{{"f", 1}, {"f", 2}}})
	c := d.call(ResumeRun{ID: "r", With: []Function{{"f", 2}}})
	d.tells("n1", Tell{})
	d.durable()
	if d.answer(c).Err != nil {
		t.Fatal(d.answer(c).Err)
	}
	if _, o := d.order(); o.Kind != TakeBack || o.Function.Version != 2 {
		t.Errorf("it goes on with %+v", o)
	}
	if d.rows["active/"+o.ID.Run.String()] == nil || d.rows["waiting/"+o.ID.Run.String()] != nil {
		t.Error("it is not active")
	}
}

// A function that no member offers is waited for, and status says so.
func TestStatusSaysWhatIsWaitedFor(t *testing.T) {
	d := newDesk(t, 1, map[string]RowValue{}, "n1")
	d.tells("n1", Tell{Functions: []Function{{"g", 1}}})
	d.call(StartRun{ID: "r", Work: simple(t, "a; b")})
	d.durable()
	s := d.answer(d.call(GetStatus{ID: "r"})).Status
	if s.Ready != 2 || len(s.Lacks) != 1 || s.Lacks[0].String() != "f@1" || s.Tasks != 2 {
		t.Errorf("its status is %+v", s)
	}
	d.call(ResumeRun{ID: "r", With: []Function{{"g", 1}}}) // another function
	d.durable()
	if len(d.orders) > 0 {
		t.Error("it runs something else")
	}
}

// A task runs where its largest input is, if that has 1 MB; else its place does not matter.
func TestATaskRunsWhereItsLargestInputIs(t *testing.T) {
	for size, want := range map[int64]phalanx.NodeID{largeInput: "n2", largeInput - 1: "n1"} {
		d := newDesk(t, 1, map[string]RowValue{}, "n1", "n2")
		d.tells("n1", Tell{Slots: 3})
		d.tells("n2", Tell{Slots: 3})
		d.durable()
		start := func(id, graph string) {
			d.call(StartRun{ID: id, Work: simple(t, graph)})
			d.durable()
		}
		start("x", "a")
		first, x := d.order()
		start("r", "a; b < a")
		n, o := d.order()
		start("y", "a; b")
		d.order()
		d.order()
		d.reports(first, x, small, "")
		d.reports(n, o, Output{Size: size}, "") // both members have one attempt now
		d.durable()
		if to, _ := d.order(); n != "n2" || to != want {
			t.Errorf("%d bytes are on %s, and the task that reads them runs on %s", size, n, to)
		}
	}
}

// An output that is gone is made again: the store says so, or an executor that needs it.
func TestAnOutputThatIsGoneIsMadeAgain(t *testing.T) {
	for _, by := range []string{"store", "executor", "disk", "nobody"} {
		d := started(t, "a off; b < a")
		n, o := d.order()
		d.reports(n, o, Output{Size: 100_000}, "")
		d.durable()
		_, b := d.order()
		lost := Blob{Run: o.ID.Run, Made: o.ID.Attempt}
		switch by {
		case "store":
			d.do(OutputGone{lost})
		case "executor":
			d.do(Heard{n, Report{Epoch: 1, ID: b.ID, Failed: "an input is gone", Missing: []Blob{lost}}})
		case "disk":
			d.do(OutputGone{Blob{Run: o.ID.Run, Made: Attempt{1, 99}}}) // of another attempt
		}
		d.durable()
		if made := published[RecoveryBegan](d) > 0; made != (by == "store" || by == "executor") {
			t.Errorf("%s says so: the output is made again %v", by, made)
		}
	}
}

// The controller checks the numbers of tasks, and the lengths of texts and outputs, that executors send.
func TestWhatExecutorsSayIsChecked(t *testing.T) {
	d, o := lostTask(t)
	d = newDesk(t, 2, d.rows, "n1", "n2")
	run := o.ID.Run
	var all Tell
	for _, v := range []int{-1, 1, 1 << 40} {
		all.Running = append(all.Running, Running{ID: AttemptID{run, v, o.ID.Attempt}})
		all.Ended = append(all.Ended, Report{Epoch: 2, ID: AttemptID{run, v, Attempt{7, 7}}, Missing: []Blob{{Run: run, Task: v}}})
		all.Holds = append(all.Holds, Blob{Run: run, Task: v})
		d.do(OutputGone{Blob{Run: run, Task: v}})
	}
	all.Slots = 1 << 60
	d.tells("n2", all)
	d.tells("n1", Tell{Running: []Running{{ID: o.ID}}})
	o.Epoch = 2
	d.reports("n1", o, Output{Size: 1, Recorded: true, Bytes: make([]byte, MaxRecorded+1)}, "")
	if h := d.c.runs[run]; h.run.tasks[0].output.Bytes != nil || h.run.tasks[0].output.Recorded || d.c.members["n2"].slots != MaxSlots {
		t.Error("it takes what is too large")
	}
	d = started(t, "a")
	n, o := d.order()
	d.reports(n, o, Output{}, strings.Repeat("é", MaxWhy))
	for _, e := range d.news {
		if f, is := e.(AttemptFailed); is && len(f.Why) > MaxWhy+8 {
			t.Errorf("an error has %d bytes", len(f.Why))
		}
	}
}
