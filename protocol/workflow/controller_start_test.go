package workflow

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx"
)

// Start is answered once it is durable, also to others who ask for the same.
func TestStartIsDurable(t *testing.T) {
	d := newDesk(t, 1, map[string]RowValue{})
	work := simple(t, "a!")
	mine := d.call(StartRun{ID: "r", Key: "me", Work: work})
	again := d.call(StartRun{ID: "r", Key: "me", Work: work})
	other := d.call(StartRun{ID: "r", Work: work})
	finds := d.call(AttachRun{ID: "r"})
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
		d.refuses(d.call(StartRun{ID: "r", Work: work}), phalanx.ErrMismatch, want)
	}
}

// Start refuses a workflow that is too large or malformed.
func TestStartIsChecked(t *testing.T) {
	d := newDesk(t, 1, map[string]RowValue{})
	for _, id := range []string{"", strings.Repeat("x", 257), "a\nb", "a\xffb"} {
		d.refuses(d.call(StartRun{ID: id, Work: simple(t, "a")}), phalanx.ErrInvalid, "id")
		d.refuses(d.call(AttachRun{ID: id}), phalanx.ErrInvalid, "id")
	}
	large := simple(t, "a")
	for range MaxWork/MaxWrite + 1 {
		large.Parts = append(large.Parts, make([]byte, MaxWrite))
	}
	d.refuses(d.call(StartRun{ID: "r", Work: large}), phalanx.ErrInvalid, "bytes")
	part := simple(t, "a")
	part.Parts = [][]byte{make([]byte, MaxWrite+1)}
	d.refuses(d.call(StartRun{ID: "r", Work: part}), phalanx.ErrInvalid, "part")
	many := &Work{Graph: &Graph{Tasks: make([]Task, MaxTasks+1)}, Functions: []Function{{"f", 1}}, Calls: make([]int32, MaxTasks+1)}
	d.refuses(d.call(StartRun{ID: "r", Work: many}), phalanx.ErrInvalid, "tasks")
	d.refuses(d.call(StartRun{ID: "r", Work: &Work{Graph: &Graph{Tasks: make([]Task, 2)}, Calls: []int32{0, 1}, Functions: []Function{{"f", 1}}}}), phalanx.ErrInvalid, "function")
	d.refuses(d.call(StartRun{ID: "r"}), phalanx.ErrInvalid, "workflow")
	d.refuses(d.call(StartRun{ID: "r", Work: simple(t, "a off,nd; b! < a")}), phalanx.ErrInvalid, "cut")
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
		d.call(StartRun{ID: fmt.Sprint(i), Work: work})
	}
	busy := d.call(StartRun{ID: "x", Work: simple(t, "a")})
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

// The ledger refuses what is more than 16 MB at once, and then the tenure is over: of a workflow of 64 MB the next parts are written once
// those before are durable.
func TestALargeWorkflowIsWrittenByAndBy(t *testing.T) {
	d := newDesk(t, 1, map[string]RowValue{})
	work := simple(t, "a")
	for range MaxWork/MaxWrite - 1 {
		work.Parts = append(work.Parts, make([]byte, MaxWrite))
	}
	large := d.call(StartRun{ID: "large", Work: work})
	for writes := 0; len(d.queue) > 0; writes++ {
		size := 0
		for _, w := range d.queue {
			for _, r := range w.Rows {
				size += r.size()
			}
		}
		if size > MaxUncommitted*3/4 { // an entry is longer than its rows
			t.Fatalf("%d bytes are on the way after %d writes", size, writes)
		}
		d.durableTo(d.queue[0].Number)
	}
	if err := d.answer(large).Err; err != nil || d.c.bytes != 0 || d.c.onWay != 0 || len(d.c.units) > 0 {
		t.Errorf("%v; %d bytes are left", err, d.c.bytes)
	}
}

// A start that is cut off leaves nothing: the next controller deletes its parts.
func TestAStartThatIsCutOff(t *testing.T) {
	d := newDesk(t, 1, map[string]RowValue{})
	work := simple(t, "a")
	for range 3 {
		work.Parts = append(work.Parts, make([]byte, MaxWrite/2))
	}
	c := d.call(StartRun{ID: "r", Work: work})
	d.queue = d.queue[:len(d.queue)-1]
	d.durable()
	d.waits(c)
	d = newDesk(t, 2, d.rows)
	d.durable()
	if len(d.rows) != 0 {
		t.Errorf("%v is left", slices.Collect(maps.Keys(d.rows)))
	}
}
