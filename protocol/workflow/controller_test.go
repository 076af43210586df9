package workflow

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// desk hosts a controller. Writes become durable when the test says so; what is read and confirmed is answered at
// once.
type desk struct {
	t       *testing.T
	c       *Controller
	now     time.Duration
	rows    map[string]RowValue
	queue   []Write
	sent    []Send
	answers map[Caller]Answer
	news    []News
	caller  Caller
	view    uint64
	orders  []Send // Order messages, also in sent, but for repeats
	serials map[phalanx.NodeID]uint64
}

func newDesk(t *testing.T, epoch uint64, rows map[string]RowValue, nodes ...phalanx.NodeID) *desk {
	d := &desk{t: t, rows: rows, answers: map[Caller]Answer{}, serials: map[phalanx.NodeID]uint64{}}
	d.c = NewController(ControllerConfig{Ledger: 1, Epoch: epoch}, 0)
	var scan []Row
	for _, k := range slices.Sorted(maps.Keys(rows)) {
		kind, rest, _ := strings.Cut(k, "/")
		uid, _, _ := strings.Cut(rest, "/")
		if _, active := rows["active/"+uid]; kind == "run" && !active || kind == "id" || kind == "until" || kind == "waiting" {
			continue
		}
		scan = append(scan, Row{Key: k, Value: rows[k]})
	}
	d.do(Scanned{Rows: scan, Last: true})
	d.see(nodes...)
	return d
}

// see brings the next view.
func (d *desk) see(nodes ...phalanx.NodeID) {
	d.view++
	d.do(Members{View: ViewNumber{1, d.view}, Nodes: nodes})
}

func (d *desk) do(ev ControlEvent) {
	d.t.Helper()
	todo := []ControlEvent{ev}
	for len(todo) > 0 {
		ev := todo[0]
		todo = todo[1:]
		for _, e := range d.c.Step(d.now, ev) {
			switch e := e.(type) {
			case Write:
				d.queue = append(d.queue, e)
			case Read:
				var rows []Row
				for _, k := range slices.Sorted(maps.Keys(d.rows)) {
					if k == e.Key || e.End != "" && k >= e.Key && k < e.End {
						rows = append(rows, Row{Key: k, Value: d.rows[k]})
					}
				}
				if e.Limit > 0 {
					rows = rows[:min(len(rows), e.Limit)]
				}
				todo = append(todo, Found{e.Number, rows})
			case Confirm:
				todo = append(todo, Confirmed(e))
			case Send:
				d.sent = append(d.sent, e)
				if o, is := e.Message.(Order); is && o.Serial > d.serials[e.To] {
					d.serials[e.To] = o.Serial
					d.orders = append(d.orders, e)
				}
			case Answer:
				if _, is := d.answers[e.Caller]; is {
					d.t.Errorf("call %d is answered twice", e.Caller)
				}
				d.answers[e.Caller] = e
			case Publish:
				d.news = append(d.news, e.News)
			}
		}
	}
}

// durable makes all Writes durable, also those that follow.
func (d *desk) durable() {
	d.t.Helper()
	d.durableTo(1 << 60)
}

// durableTo makes Writes durable up to a number.
func (d *desk) durableTo(number uint64) {
	d.t.Helper()
	for len(d.queue) > 0 && d.queue[0].Number <= number {
		w := d.queue[0]
		d.queue = d.queue[1:]
		for _, r := range w.Rows {
			if r.Value != nil {
				d.rows[r.Key] = r.Value
				continue
			}
			maps.DeleteFunc(d.rows, func(k string, _ RowValue) bool { return k == r.Key || r.End != "" && k >= r.Key && k < r.End })
		}
		d.do(Durable{w.Number})
	}
}

func (d *desk) after(pause time.Duration) {
	d.t.Helper()
	d.now += pause
	d.do(Tick{})
}

func (d *desk) call(c Call) Caller {
	d.t.Helper()
	d.caller++
	d.do(Called{Caller: d.caller, Call: c})
	return d.caller
}

// answer returns the answer to a call, which has to be there.
func (d *desk) answer(c Caller) Answer {
	d.t.Helper()
	a, is := d.answers[c]
	if !is {
		d.t.Fatalf("call %d has no answer", c)
	}
	return a
}

func (d *desk) waits(c Caller) {
	d.t.Helper()
	if a, is := d.answers[c]; is {
		d.t.Fatalf("call %d is answered too early: %+v", c, a)
	}
}

func (d *desk) refuses(c Caller, kind phalanx.Kind, part string) {
	d.t.Helper()
	if err := d.answer(c).Err; !errors.Is(err, kind) || !strings.Contains(err.Error(), part) {
		d.t.Errorf("call %d is answered %v, want %v with %q", c, err, kind, part)
	}
}

// tells has a member tell that it has nothing, or what is given.
func (d *desk) tells(n phalanx.NodeID, t Tell) {
	d.t.Helper()
	for _, s := range slices.Backward(d.sent) {
		if a, is := s.Message.(Ask); is && s.To == n {
			t.Epoch, t.Number, t.Parts = a.Epoch, a.Number, 1
			if t.Slots == 0 {
				t.Slots = 2
			}
			if t.Functions == nil {
				t.Functions = []Function{{"f", 1}}
			}
			d.do(Heard{n, t})
			return
		}
	}
	d.t.Fatalf("%s was not asked", n)
}

// order takes the oldest Order that was sent.
func (d *desk) order() (phalanx.NodeID, Order) {
	d.t.Helper()
	if len(d.orders) == 0 {
		d.t.Fatal("no order was sent")
	}
	s := d.orders[0]
	d.orders = d.orders[1:]
	o := s.Message.(Order)
	d.do(Heard{s.To, Taken{o.Epoch, o.ID}})
	return s.To, o
}

func (d *desk) reports(n phalanx.NodeID, o Order, out Output, failed string) {
	d.t.Helper()
	d.do(Heard{n, Report{Epoch: o.Epoch, ID: o.ID, Gen: o.Gen, Kind: o.Kind, Output: out, Failed: failed}})
}

func count[M Message](d *desk) (n int) {
	for _, s := range d.sent {
		if _, is := s.Message.(M); is {
			n++
		}
	}
	return n
}

func published[N News](d *desk) (n int) {
	for _, e := range d.news {
		if _, is := e.(N); is {
			n++
		}
	}
	return n
}

// simple returns a workflow whose tasks all run f@1.
func simple(t *testing.T, graph string) *Work {
	g := parse(t, graph)
	k := workOf(g, 0)
	k.Functions, k.Calls = []Function{{"f", 1}}, make([]int32, len(g.Tasks))
	return k
}

var small = Output{Size: 8, Recorded: true, Bytes: []byte("12345678")}

// started returns a desk with a member that is ready, and a run that has started.
func started(t *testing.T, graph string) *desk {
	d := newDesk(t, 1, map[string]RowValue{}, "n1")
	d.tells("n1", Tell{})
	d.durable()
	c := d.call(Start{ID: "r", Key: "me", Work: simple(t, graph)})
	d.durable()
	if a := d.answer(c); a.Err != nil || !a.Fresh {
		t.Fatalf("%+v", a)
	}
	return d
}

// Start is answered once it is durable, also to others who ask for the same.
func TestStartIsDurable(t *testing.T) {
	d := newDesk(t, 1, map[string]RowValue{})
	work := simple(t, "a!")
	mine := d.call(Start{ID: "r", Key: "me", Work: work})
	again := d.call(Start{ID: "r", Key: "me", Work: work})
	other := d.call(Start{ID: "r", Work: work})
	finds := d.call(Attach{ID: "r"})
	for _, c := range []Caller{mine, again, other, finds} {
		d.waits(c)
	}
	d.durable()
	for c, fresh := range map[Caller]bool{mine: true, again: true, other: false, finds: false} {
		if a := d.answer(c); a.Run != (UID{1, 1, 1}) || a.Fresh != fresh || a.Err != nil {
			t.Errorf("call %d is answered %+v", c, a)
		}
	}
	if published[RunStarted](d) != 1 {
		t.Error("people hear of another number of starts")
	}
}

// An id has one workflow: the answer names the first difference.
func TestAnotherWorkflowIsRefused(t *testing.T) {
	d := started(t, "a; b < a; c! < b")
	function := simple(t, "a; b < a; c! < b")
	function.Digest[0]++
	function.Functions = []Function{{"f", 1}, {"f", 2}}
	function.Calls[1] = 1
	constant := simple(t, "a; b < a; c! < b")
	constant.Digest[0] += 2
	constant.Constants = make([]phalanx.Digest, 3)
	constant.Constants[2][0] = 1
	for want, work := range map[string]*Work{
		"b runs f@2, and f@1 in the run":          function,
		"c has other constants than in the run":   constant,
		"b reads tasks [], and [0] in the run":    simple(t, "a; b; c! < b"),
		"c has other annotations than in the run": simple(t, "a; b < a; c < b"),
		`task 0 is "x", and "a" in the run`:       simple(t, "x; b < x; c! < b"),
		"it has 4 tasks, and 3 in the run":        simple(t, "a; b < a; c! < b; d"),
	} {
		d.refuses(d.call(Start{ID: "r", Work: work}), phalanx.ErrMismatch, want)
	}
}

// What is too large or malformed is refused.
func TestStartIsChecked(t *testing.T) {
	d := newDesk(t, 1, map[string]RowValue{})
	for _, id := range []string{"", strings.Repeat("x", 257), "a\nb", "a\xffb"} {
		d.refuses(d.call(Start{ID: id, Work: simple(t, "a")}), phalanx.ErrInvalid, "id")
		d.refuses(d.call(Attach{ID: id}), phalanx.ErrInvalid, "id")
	}
	large := simple(t, "a")
	for range MaxWork/MaxWrite + 1 {
		large.Parts = append(large.Parts, make([]byte, MaxWrite))
	}
	d.refuses(d.call(Start{ID: "r", Work: large}), phalanx.ErrInvalid, "bytes")
	part := simple(t, "a")
	part.Parts = [][]byte{make([]byte, MaxWrite+1)}
	d.refuses(d.call(Start{ID: "r", Work: part}), phalanx.ErrInvalid, "part")
	many := &Work{Graph: &Graph{Tasks: make([]Task, MaxTasks+1)}, Functions: []Function{{"f", 1}}, Calls: make([]int32, MaxTasks+1)}
	d.refuses(d.call(Start{ID: "r", Work: many}), phalanx.ErrInvalid, "tasks")
	d.refuses(d.call(Start{ID: "r", Work: &Work{Graph: &Graph{Tasks: make([]Task, 2)}, Calls: []int32{0, 1}, Functions: []Function{{"f", 1}}}}), phalanx.ErrInvalid, "function")
	d.refuses(d.call(Start{ID: "r"}), phalanx.ErrInvalid, "workflow")
	d.refuses(d.call(Start{ID: "r", Work: simple(t, "a off,nd; b! < a")}), phalanx.ErrInvalid, "cut")
	if len(d.queue) > 0 || len(d.c.runs) > 0 {
		t.Error("something of them is written")
	}
}

// Start is ErrBusy while 16 MB are not durable; reports wait, too. It goes on once they are.
func TestTheControllerIsBusy(t *testing.T) {
	d := started(t, "a")
	n, o := d.order()
	for i := 0; d.c.bytes <= MaxUncommitted; i++ {
		work := simple(t, "a")
		for range 50 {
			work.Parts = append(work.Parts, make([]byte, MaxWrite))
		}
		d.call(Start{ID: fmt.Sprint(i), Work: work})
	}
	busy := d.call(Start{ID: "x", Work: simple(t, "a")})
	d.refuses(busy, phalanx.ErrUnavailable, "busy")
	if !errors.Is(d.answer(busy).Err, ErrBusy) {
		t.Error("it is no ErrBusy")
	}
	d.reports(n, o, small, "")
	if h := d.c.ids["r"]; len(h.flights) != 1 || count[Acknowledge](d) > 0 {
		t.Error("a report is taken while too much is not durable")
	}
	for _, w := range d.queue {
		size := 0
		for _, r := range w.Rows {
			size += r.size()
		}
		if size > MaxWrite+1024 {
			t.Errorf("a Write has %d bytes", size)
		}
	}
	d.durable()
	d.reports(n, o, small, "")
	d.durable()
	if d.c.ids["r"] != nil || count[Acknowledge](d) != 1 {
		t.Error("it does not go on")
	}
}

// A start that is cut off leaves nothing: the next controller deletes its parts.
func TestAStartThatIsCutOff(t *testing.T) {
	d := newDesk(t, 1, map[string]RowValue{})
	work := simple(t, "a")
	for range 3 {
		work.Parts = append(work.Parts, make([]byte, MaxWrite/2))
	}
	c := d.call(Start{ID: "r", Work: work})
	d.queue = d.queue[:len(d.queue)-1]
	d.durable()
	d.waits(c)
	d = newDesk(t, 2, d.rows)
	d.durable()
	if len(d.rows) != 0 {
		t.Errorf("%v is left", slices.Collect(maps.Keys(d.rows)))
	}
}

// A member gets its first attempt after it is recorded: the next controller knows whom to wait for.
func TestAMemberIsRecordedFirst(t *testing.T) {
	d := newDesk(t, 1, map[string]RowValue{}, "n1")
	d.call(Start{ID: "r", Work: simple(t, "a")})
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
	d.call(Start{ID: "x", Work: simple(t, "a!")})
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
	starts := d.call(Start{ID: "x", Work: simple(t, "a")})
	d.do(Refused{})
	for _, c := range []Caller{waits, starts, d.call(Attach{ID: "r"})} {
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
	d.call(Start{ID: "r1", Work: simple(t, "a!")})
	d.call(Start{ID: "r2", Work: simple(t, "a!")})
	d.durable()
	d.call(Start{ID: "r3", Work: simple(t, "a")})
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
	d.call(Start{ID: "r", Work: simple(t, "a")})
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
	if r := d.rows[runKey(b.Run, "result")].(Result); len(r.Outputs) != 1 || len(r.Outputs[0].Disks) != 2 {
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
	d.call(Start{ID: "r", Work: simple(t, "z!"+strings.Repeat("; a!", 10_000))})
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
	d.call(Start{ID: "r", Work: simple(t, "a u; b < a")})
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
	d.call(Start{ID: "r", Work: simple(t, "a; b")})
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

// closedRun returns a desk with a run that has ended.
func closedRun(t *testing.T) *desk {
	d := started(t, "a")
	n, o := d.order()
	d.reports(n, o, small, "")
	d.durable()
	return d
}

// The result of a run is answered once it is durable, to those that wait and to others. What members have of the run
// is released.
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
	for range MaxCalls {
		d.call(AwaitResult{ID: "r"})
	}
	d.refuses(d.call(AwaitResult{ID: "r"}), phalanx.ErrUnavailable, "busy")
}

// A run that has ended is forgotten after 7 days of leaders' minutes, or when somebody says so. Then its id stays for 20
// minutes.
func TestRunsAreForgotten(t *testing.T) {
	d := started(t, "a!")
	d.refuses(d.call(Forget{ID: "r"}), phalanx.ErrInvalid, "not ended")
	n, o := d.order()
	d.reports(n, o, small, "")
	d.durable()
	c := d.call(Forget{ID: "r"})
	during := d.call(Start{ID: "r", Work: simple(t, "a!")})
	d.waits(c)
	d.waits(during)
	d.durable()
	if d.answer(c).Err != nil {
		t.Fatal(d.answer(c).Err)
	}
	d.refuses(during, phalanx.ErrDeleted, "forgotten")
	d.refuses(d.call(Attach{ID: "r"}), phalanx.ErrDeleted, "forgotten")
	for range tombstone - 1 {
		d.after(minute)
		d.durable()
	}
	d.refuses(d.call(Start{ID: "r", Work: simple(t, "a!")}), phalanx.ErrDeleted, "forgotten")
	d.after(minute)
	d.durable()
	for k := range d.rows {
		if k != "clock" && !strings.HasPrefix(k, "executor/") {
			t.Errorf("%s is left", k)
		}
	}
	c = d.call(Start{ID: "r", Work: simple(t, "a!")})
	d.durable()
	if a := d.answer(c); a.Err != nil || a.Run != (UID{1, 1, 2}) {
		t.Errorf("the id cannot be used again: %+v", a)
	}
}

func TestRetention(t *testing.T) {
	d := closedRun(t)
	d.c.minutes = retention // the first minute was 0
	d.c.minutes--
	if a := d.answer(d.call(Start{ID: "r", Key: "me", Work: simple(t, "a")})); !a.Fresh || a.Err != nil {
		t.Errorf("it is not known any more: %+v", a)
	}
	d.refuses(d.call(Start{ID: "r", Work: simple(t, "a; b")}), phalanx.ErrMismatch, "2 tasks")
	d.after(minute)
	d.durable()
	d.refuses(d.call(Attach{ID: "r"}), phalanx.ErrNotFound, "no run")
	if len(d.rows) != 2 { // the clock and the member
		t.Errorf("%v is left", slices.Collect(maps.Keys(d.rows)))
	}
}

// List has the runs with a prefix, in pages.
func TestList(t *testing.T) {
	d := newDesk(t, 1, map[string]RowValue{})
	for _, id := range []string{"a/1", "a/2", "a/3", "b/1"} {
		d.call(Start{ID: id, Work: simple(t, "a")})
	}
	d.durable()
	list := func(l List) (ids string) {
		for _, r := range d.answer(d.call(l)).List {
			ids += r.ID + " "
		}
		return ids
	}
	for want, l := range map[string]List{"a/1 a/2 a/3 ": {Prefix: "a/"}, "a/1 a/2 ": {Prefix: "a/", Limit: 2}, "a/3 ": {Prefix: "a/", After: "a/2"}, "a/1 a/2 a/3 b/1 ": {}} {
		if got := list(l); got != want {
			t.Errorf("%+v has %s, want %s", l, got, want)
		}
	}
}
