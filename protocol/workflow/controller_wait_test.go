package workflow

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// runs starts another controller on a desk's rows, whose members have nothing.
func (d *desk) next(nodes ...phalanx.NodeID) *desk {
	d.t.Helper()
	n := newDesk(d.t, d.c.cfg.Epoch+1, d.rows, nodes...)
	for _, m := range nodes {
		n.tells(m, Tell{})
	}
	n.durable()
	return n
}

// returns has the oldest order's attempt return a graph.
func (d *desk) returns(graph string) {
	d.t.Helper()
	n, o := d.order()
	w := simple(d.t, graph)
	w.Parts = [][]byte{[]byte(graph)}
	d.do(Heard{n, Report{Epoch: o.Epoch, ID: o.ID, Gen: o.Gen, Kind: o.Kind, Work: w}})
	d.durable()
}

// The first signal of a name counts. A repeat is acknowledged, another one is refused, an early one is kept, and after the run has
// ended all are refused.
func TestSignalsOfClients(t *testing.T) {
	d := started(t, "a; ok event < a; b < ok")
	early := d.call(SignalRun{ID: "r", Name: "ok", Key: "1", Bytes: []byte("yes")})
	again := d.call(SignalRun{ID: "r", Name: "ok", Key: "1", Bytes: []byte("yes")})
	other := d.call(SignalRun{ID: "r", Name: "ok", Key: "2", Bytes: []byte("no")})
	d.waits(early)
	d.waits(other)
	d.durable()
	if err := d.answer(early).Err; err != nil {
		t.Error(err)
	}
	if err := d.answer(again).Err; err != nil {
		t.Error(err)
	}
	d.refuses(other, phalanx.ErrExists, "another signal ok has come before")
	d.refuses(d.call(SignalRun{ID: "r", Name: "ok", Key: "3"}), phalanx.ErrExists, "another signal")
	d.refuses(d.call(SignalRun{ID: "r", Name: strings.Repeat("x", MaxSignalName+1), Key: "3"}), phalanx.ErrInvalid, "name")
	n, o := d.order()
	d.reports(n, o, small, "")
	d.durable()
	n, o = d.order()
	if string(o.Inputs[0].Output.Bytes) != "yes" {
		t.Errorf("b gets %q", o.Inputs[0].Output.Bytes)
	}
	d.reports(n, o, small, "")
	d.durable()
	d.refuses(d.call(SignalRun{ID: "r", Name: "ok", Key: "1"}), phalanx.ErrClosed, "has ended")
}

// A run that waits for a signal leaves the memory, and comes back for it, also under the next controller.
func TestARunThatWaitsForASignalIsParked(t *testing.T) {
	for _, dies := range []bool{false, true} {
		d := started(t, "ok event; b < ok")
		d.durable()
		if n := d.rows[idKey("r")].(Name); n.State != Waiting || n.Why == "" || n.Until != 0 || len(d.c.runs) > 0 {
			t.Fatalf("%+v, %d runs", n, len(d.c.runs))
		}
		if dies {
			d = d.next("n1")
		}
		c := d.call(SignalRun{ID: "r", Name: "ok", Key: "1", Bytes: []byte("yes")})
		d.tells("n1", Tell{})
		d.durable()
		if err := d.answer(c).Err; err != nil {
			t.Fatal(err)
		}
		n, o := d.order()
		d.reports(n, o, small, "")
		d.durable()
		if n := d.rows[idKey("r")].(Name); n.State != Finished {
			t.Errorf("%+v", n)
		}
		for k := range d.rows {
			if strings.HasPrefix(k, "waiting/") || strings.HasPrefix(k, "active/") {
				t.Errorf("%s is left", k)
			}
		}
	}
}

// A run that sleeps leaves the memory, and is loaded in the minute in which it has slept enough, also under the next
// controller. It does not wake earlier.
func TestARunThatSleepsIsParked(t *testing.T) {
	for _, dies := range []bool{false, true} {
		d := started(t, "e sleep; b < e")
		d.durable()
		n := d.rows[idKey("r")].(Name)
		if _, is := d.rows[wakeKey(60, "r")]; n.State != Waiting || n.Until != 60 || !is || len(d.c.runs) > 0 {
			t.Fatalf("%+v, %d runs", n, len(d.c.runs))
		}
		for range 59 {
			d.after(time.Minute)
			d.durable()
		}
		if len(d.c.runs) > 0 {
			t.Fatal("it is loaded before its time")
		}
		if dies {
			d = d.next("n1")
			if d.c.minutes != 59 {
				t.Fatalf("it is minute %d", d.c.minutes)
			}
		}
		d.after(time.Minute)
		d.tells("n1", Tell{})
		d.durable()
		if _, is := d.rows[wakeKey(60, "r")]; is || len(d.c.runs) != 1 {
			t.Fatalf("it is not loaded in its minute; %v", d.c.runs)
		}
		d.after(time.Minute)
		d.durable()
		if _, o := d.order(); o.ID.Task != 1 {
			t.Errorf("%+v runs", o)
		}
	}
}

// A sleep of which little is left stays in memory, and ends in time.
func TestAShortSleepStaysInMemory(t *testing.T) {
	g := parse(t, "e sleep; b < e")
	g.Tasks[0].Sleep = time.Minute
	d := newDesk(t, 1, map[string]RowValue{}, "n1")
	d.tells("n1", Tell{})
	k := workOf(g, 0)
	k.Functions, k.Calls = []Function{{"f", 1}}, make([]int32, 2)
	d.call(StartRun{ID: "r", Work: k})
	d.durable()
	if at, ok := d.c.timers.Due(); len(d.c.runs) != 1 || !ok || at != time.Minute {
		t.Fatalf("%d runs, due at %v", len(d.c.runs), at)
	}
	d.after(time.Minute)
	d.durable()
	if _, o := d.order(); o.ID.Task != 1 {
		t.Errorf("%+v runs", o)
	}
}

// A graph that a task has returned runs as part of the run, also under the next controller: its tasks have the functions of
// their own workflow, and its result is the output of the task.
func TestAGraphThatATaskReturns(t *testing.T) {
	for _, dies := range []bool{false, true} {
		d := started(t, "p nd expands; c < p")
		d.returns("x nd; y! < x")
		if dies {
			d = d.next("n1")
		}
		n, o := d.order()
		if o.ID.Task != 2 || o.Local != 0 || o.Function.Name != "f" || o.Result {
			t.Fatalf("%+v", o)
		}
		d.reports(n, o, small, "")
		d.durable()
		n, o = d.order()
		if o.ID.Task != 3 || o.Local != 1 || !slices.Equal(o.From, []int{0}) || o.Inputs[0].Task != 2 {
			t.Fatalf("%+v", o)
		}
		d.reports(n, o, Output{Size: 8, Recorded: true, Bytes: []byte("abcdefgh")}, "")
		d.durable()
		n, o = d.order()
		if o.ID.Task != 1 || o.Inputs[0].Task != 3 || string(o.Inputs[0].Output.Bytes) != "abcdefgh" || !o.Result {
			t.Fatalf("%+v", o)
		}
		s := d.answer(d.call(GetStatus{ID: "r"})).Status
		if s.Tasks != 4 || s.Ended != 3 || s.Running != 1 {
			t.Errorf("%+v", s)
		}
		d.reports(n, o, small, "")
		d.durable()
		if n := d.rows[idKey("r")].(Name); n.State != Finished {
			t.Errorf("%+v", n)
		}
	}
}

// The form of a graph goes into the ledger, and the controller puts it together of that.
func TestTheFormOfAGraphIsRecorded(t *testing.T) {
	for _, spaces := range []int{0, MaxRecorded, 5 * MaxWrite} { // a long form is recorded in pieces
		theFormIsRecorded(t, "x nd; y! < x"+strings.Repeat(" ", spaces))
	}
}

func theFormIsRecorded(t *testing.T, whole string) {
	d := started(t, "p nd expands")
	codec := func(parts [][]byte) (*Work, error) {
		form := string(slices.Concat(parts...))
		if form != whole {
			return nil, invalid("it is broken")
		}
		return simple(t, form), nil
	}
	d.c.cfg.Work = codec
	n, o := d.order()
	d.do(Heard{n, Report{Epoch: o.Epoch, ID: o.ID, Kind: o.Kind, Work: &Work{Parts: CutForm([]byte(whole))}}})
	for _, w := range d.queue {
		size := 0
		for _, r := range w.Rows {
			if r.Value != nil {
				size += r.Value.size()
			}
		}
		if size > MaxWrite {
			t.Errorf("a write has %d bytes", size)
		}
		for _, r := range w.Rows {
			if b, is := r.Value.(Batch); is {
				for i, rec := range b.Records {
					if rec, is := rec.(Expanded); is { // as the host writes and reads it
						form := rec.Work.(*Work).Parts[0]
						rec.Graph, rec.Work = nil, &Work{Parts: [][]byte{slices.Clone(form)}}
						b.Records[i] = rec
					}
				}
			}
		}
	}
	d.durable()
	var rows []Row
	for _, k := range slices.Sorted(maps.Keys(d.rows)) {
		if strings.HasPrefix(k, "run/") {
			rows = append(rows, Row{Key: k, Value: d.rows[k]})
		}
	}
	h, err := NewController(ControllerConfig{Epoch: 2, Work: codec}, 0).rebuild(rows)
	if err != nil || h.taskName(2) != "p/y" || h.run.Maker(0) != 2 || h.function(2).Name != "f" {
		t.Errorf("%+v, %v", h, err)
	}
	if _, err := NewController(ControllerConfig{Epoch: 2}, 0).rebuild(rows); err == nil {
		t.Error("a graph whose form cannot be read is left away")
	}
}

// A graph that is too large, or no graph, fails the task for good.
func TestGraphsThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		work Work
		why  string
	}{
		{Work{Parts: CutForm(make([]byte, MaxReturned+1))}, fmt.Sprintf("p: it has returned a workflow of %d bytes, more than %d", MaxReturned+1, MaxReturned)},
		{Work{Graph: &Graph{Tasks: make([]Task, 2)}}, "p: it has returned a workflow: "},
		{Work{Parts: [][]byte{[]byte("x")}}, "p: it has returned a workflow that cannot be read: it is broken"},
		{*simple(t, "x! nd; y! nd"), "p: expand: the graph that p returns has several results"},
	} {
		d := started(t, "p nd expands")
		d.c.cfg.Work = func([][]byte) (*Work, error) { return nil, fmt.Errorf("it is broken") }
		if len(c.why) > 50 && strings.Contains(c.why, "more than") {
			d.c.cfg.Work = func([][]byte) (*Work, error) { return simple(t, "x"), nil }
		}
		n, o := d.order()
		d.do(Heard{n, Report{Epoch: o.Epoch, ID: o.ID, Kind: o.Kind, Work: &c.work}})
		d.durable()
		if n := d.rows[idKey("r")].(Name); n.State != Finished || !strings.HasPrefix(n.Why, c.why) {
			t.Errorf("%+v, want %s", n, c.why)
		}
	}
}

// A checkpoint that its disks have lost is told by the attempt that would read it, or by the host. The status names what is lost for
// good, and a resume accepts that.
func TestACheckpointThatIsLost(t *testing.T) {
	for _, told := range []string{"by an attempt", "by the host", "to a run that is parked"} {
		d := newDesk(t, 1, map[string]RowValue{}, "n1")
		d.tells("n1", Tell{Disk: "disk"})
		d.durable()
		d.call(StartRun{ID: "r", Work: simple(t, "a nd; x! < a")})
		d.durable()
		n, o := d.order()
		a := Blob{Run: o.ID.Run, Task: 0, Made: o.ID.Attempt}
		d.reports(n, o, Output{Size: 1 << 20}, "")
		d.do(Heard{"n1", BlobWritten{Epoch: 1, Blob: a, Disk: "disk"}})
		d.durable()
		n, o = d.order()
		if told == "by an attempt" {
			d.do(Heard{n, Report{Epoch: 1, ID: o.ID, Kind: o.Kind, Failed: "an input is gone", Missing: []Blob{a}, Unsaved: []Blob{a}}})
		} else {
			d.reports(n, o, Output{}, "it crashes")
			d.do(OutputGone{a})
			d.do(CheckpointGone{a})
		}
		s := d.answer(d.call(GetStatus{ID: "r"})).Status
		if !slices.Equal(s.Lost, []string{"a"}) || !strings.Contains(s.Why, "the output of a is lost") {
			t.Fatalf("%s: %+v", told, s)
		}
		if d.durable(); told == "to a run that is parked" {
			d.after(time.Hour)
			d.durable()
			if len(d.c.runs) > 0 {
				t.Fatal("it is not parked")
			}
			if s := d.answer(d.call(GetStatus{ID: "r"})).Status; s.State != Waiting || !slices.Equal(s.Lost, []string{"a"}) {
				t.Errorf("its status does not name what is lost any more: %+v", s)
			}
		}
		c := d.call(ResumeRun{ID: "r", AcceptLoss: true})
		if told == "to a run that is parked" {
			d.tells("n1", Tell{Disk: "disk"})
		}
		d.durable()
		d.after(time.Hour)
		d.durable()
		if err := d.answer(c).Err; err != nil {
			t.Fatal(err)
		}
		if _, o := d.order(); o.ID.Task != 0 || o.Gen != 1 {
			t.Errorf("%s: %+v", told, o)
		}
	}
}

// A recovery set and a result that do not fit into an entry of the ledger are cut, and put together again.
func TestLargeRecordsAreCut(t *testing.T) {
	const n = 70_000
	h := &hosted{uid: UID{1, 1, 1}}
	c := NewController(ControllerConfig{Ledger: 1, Epoch: 1}, 0)
	g := &Graph{Tasks: make([]Task, n)}
	for v := range g.Tasks {
		g.Tasks[v].Effect = None
	}
	e, err := Check(g)
	if err != nil {
		t.Fatal(err)
	}
	h.work, h.run = workOf(g, 0), NewRun(RunConfig{Epoch: 1}, e, nil)
	set := make([]int, n)
	for v := range set {
		set[v] = v
	}
	c.record(h, Append{Number: 1, Records: []Record{Recovering{Set: set, Loss: true}, Undone{Task: n - 1}, Recovering{Set: []int{1}}}})
	c.flush()
	var part []Record
	writes := 0
	for _, e := range c.out {
		w, is := e.(Write)
		if !is {
			continue
		}
		writes++
		size := 0
		for _, r := range w.Rows {
			size += r.size()
			b := r.Value.(Batch)
			part = append(part, b.Records...)
		}
		if size > 256<<10 {
			t.Errorf("a write has %d bytes", size)
		}
	}
	all := Whole(part)
	if len(all) != 3 || !slices.Equal(all[0].(Recovering).Set, set) || !all[0].(Recovering).Loss || writes < 2 {
		t.Errorf("%d records in %d writes", len(all), writes)
	}
	c.out = nil
	r := Result{Outputs: make([]Located, 10_000)}
	for i := range r.Outputs {
		r.Outputs[i].Task = i
	}
	c.addResult(h.uid, r)
	c.flush()
	var outputs []Located
	for _, e := range c.out {
		for _, row := range e.(Write).Rows {
			if row.size() > MaxWrite {
				t.Errorf("a row has %d bytes", row.size())
			}
			outputs = append(outputs, row.Value.(Result).Outputs...)
		}
	}
	if len(outputs) != 10_000 || outputs[9_999].Task != 9_999 {
		t.Errorf("%d outputs", len(outputs))
	}
}

// A member that does not answer, such as one to which the link is cut, holds up a run that comes back to memory only if something of the run may be there.
func TestASilentMemberHoldsUpNoRunThatComesBack(t *testing.T) {
	for _, test := range []struct {
		what  string
		graph string
		made  Output // of a
		waits bool
	}{
		{"nothing", "ok event; b < ok", Output{}, false},
		{"an output that is recorded", "a; ok event < a; b < ok a", small, false},
		{"an output that only a member may have", "a off; ok event < a; b < ok a", Output{Size: 1 << 20}, true},
	} {
		d := newDesk(t, 1, map[string]RowValue{}, "n1", "n2")
		d.tells("n1", Tell{})
		d.tells("n2", Tell{})
		d.durable()
		d.call(StartRun{ID: "r", Work: simple(t, test.graph)})
		d.durable()
		if len(d.orders) > 0 {
			n, o := d.order()
			d.reports(n, o, test.made, "")
			d.durable()
		}
		if len(d.c.runs) > 0 {
			t.Fatalf("%s: it is not parked", test.what)
		}
		c := d.call(SignalRun{ID: "r", Name: "ok", Key: "1"})
		d.tells("n1", Tell{}) // n2 says nothing
		d.durable()
		d.after(takeoverGrace)
		d.durable()
		if _, answered := d.answers[c]; answered == test.waits || answered != (len(d.orders) > 0) {
			t.Errorf("%s is elsewhere: the signal is answered: %v, %d orders", test.what, answered, len(d.orders))
		}
		d.tells("n2", Tell{})
		d.durable()
		d.after(takeoverGrace)
		d.durable()
		if err := d.answer(c).Err; err != nil {
			t.Error(err)
		}
		if len(d.c.heldRuns) > 0 || len(d.orders) == 0 {
			t.Errorf("%s: %d runs are held, and %d orders sent", test.what, len(d.c.heldRuns), len(d.orders))
		}
	}
}
