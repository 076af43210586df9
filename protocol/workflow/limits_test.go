package workflow

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// limited returns a desk with members that have eight slots each, on which runs have started.
func limited(t *testing.T, graphs ...string) *desk {
	d := newDesk(t, 1, map[string]RowValue{}, "n1", "n2")
	d.tells("n1", Tell{Slots: 8})
	d.tells("n2", Tell{Slots: 8})
	d.durable()
	for i, g := range graphs {
		d.call(StartRun{ID: fmt.Sprint("r", i), Work: simple(t, g)})
	}
	d.durable()
	return d
}

// begun takes all orders, and returns their tasks as "run.task".
func (d *desk) begun(of map[string]Send) string {
	d.t.Helper()
	var all []string
	for len(d.orders) > 0 {
		n, o := d.order()
		name := fmt.Sprintf("%d.%d", o.ID.Run.Index, o.ID.Task)
		if of != nil {
			of[name] = Send{To: n, Message: o}
		}
		all = append(all, name)
	}
	return strings.Join(all, " ")
}

func (d *desk) ends(s Send) {
	d.t.Helper()
	d.reports(s.To, s.Message.(Order), small, "")
	d.durable()
}

// No more attempts run at once than the limit says, in all runs and on all members; the runs take turns.
func TestALimitHoldsForAllRuns(t *testing.T) {
	d := limited(t, "a l:2; b l:2; c l:2; d l:2", "a l:2; b l:2; e", "f l:2; g l:2")
	of := map[string]Send{}
	if got := d.begun(of); got != "1.0 1.1 2.2" {
		t.Fatalf("what begins is %s", got)
	}
	d.ends(of["2.2"]) // without a limit: nothing follows
	if got := d.begun(of); got != "" {
		t.Fatalf("%s begins above the limit", got)
	}
	var order []string
	for _, next := range []string{"1.0", "1.1"} {
		d.ends(of[next])
		order = append(order, d.begun(of))
	}
	for _, s := range order {
		if strings.Contains(s, " ") || s == "" {
			t.Errorf("%q begins as one ends", s)
		}
	}
	for len(of) > 0 {
		for _, name := range sortedKeys(of) {
			s := of[name]
			delete(of, name)
			d.ends(s)
			order = append(order, d.begun(of))
		}
	}
	if got := strings.Join(strings.Fields(strings.Join(order, " ")), " "); got != "1.2 2.0 3.0 1.3 2.1 3.1" {
		t.Errorf("the order is %s", got)
	}
	if len(d.c.limits.all) != 0 {
		t.Errorf("%d limits are left", len(d.c.limits.all))
	}
}

// An attempt that waits for its limit takes no slot, and one whose run has been canceled does not hold up the others.
func TestWhatWaitsForALimit(t *testing.T) {
	d := limited(t, "a l:1; b l:1", "c l:1; x", "d l:1")
	of := map[string]Send{}
	if got := d.begun(of); got != "1.0 2.1" {
		t.Fatalf("what begins is %s", got)
	}
	if used := d.c.members["n1"].used + d.c.members["n2"].used; used != 2 {
		t.Errorf("%d slots are taken", used)
	}
	c := d.call(GetStatus{ID: "r1"})
	if s := d.answer(c).Status; s.Ready != 1 {
		t.Errorf("%+v", s)
	}
	d.call(CancelRun{ID: "r1", Cause: "nobody wants it"})
	d.durable()
	d.ends(of["2.1"])
	d.ends(of["1.0"])
	for _, want := range []string{"1.1", "3.0"} {
		if got := d.begun(of); got != want {
			t.Fatalf("%s begins, want %s", got, want)
		}
		d.ends(of[want])
	}
	if len(d.c.limits.all) != 0 {
		t.Errorf("%d limits are left", len(d.c.limits.all))
	}
}

// An attempt counts until it is durable that its node has left.
func TestALimitCountsUntilANodeHasLeft(t *testing.T) {
	d := limited(t, "a l:1", "b l:1")
	n, o := d.order()
	stays := "n1"
	if n == "n1" {
		stays = "n2"
	}
	d.see("n1", "n2", "n3")
	d.tells("n3", Tell{})
	d.durable()
	if n == "n1" {
		d.see("n2", "n3")
	} else {
		d.see("n1", "n3")
	}
	d.after(time.Second)
	if got := d.begun(nil); got != "" {
		t.Fatalf("%s begins while %v may run, and %s is there", got, o.ID, stays)
	}
	d.durable()
	if got := d.begun(nil); got != "2.0" {
		t.Errorf("%q begins", got)
	}
}

// The next controller counts what runs since before: nothing with a limit begins until all members have told.
func TestALimitHoldsAfterATakeover(t *testing.T) {
	d := limited(t, "a! l:2", "b! l:2; y!")
	of := map[string]Send{}
	if got := d.begun(of); got != "1.0 2.0 2.1" {
		t.Fatalf("what begins is %s", got)
	}
	d.call(StartRun{ID: "later", Work: simple(t, "c l:2")}) // without an effect: it does not wait for members
	d.durable()
	d = newDesk(t, 2, d.rows, "n1", "n2")
	tell := func(n phalanx.NodeID) {
		told := Tell{Slots: 8}
		for _, name := range sortedKeys(of) {
			if o := of[name].Message.(Order); of[name].To == n {
				told.Running = append(told.Running, Running{ID: o.ID, Gen: o.Gen, Kind: o.Kind})
			}
		}
		d.tells(n, told)
		d.durable()
	}
	tell("n1")
	d.after(time.Minute)
	d.durable()
	if got := d.begun(nil); got != "" {
		t.Fatalf("%s begins before all members have told", got)
	}
	tell("n2")
	d.after(time.Minute)
	d.durable()
	if got := d.begun(of); got != "" {
		t.Fatalf("%s begins above the limit", got)
	}
	o := of["2.0"].Message.(Order)
	d.do(Heard{of["2.0"].To, Report{Epoch: 2, ID: o.ID, Gen: o.Gen, Output: small}})
	d.durable()
	if got := d.begun(nil); got != "3.0" {
		t.Errorf("%q begins", got)
	}
}

// An attempt that was called does not hold up the others if nobody offers its function any more.
func TestALimitPassesOverWhatNobodyRuns(t *testing.T) {
	d := newDesk(t, 1, map[string]RowValue{}, "n1", "n2")
	d.tells("n1", Tell{Slots: 2})
	d.tells("n2", Tell{Functions: []Function{{"g", 1}}})
	d.durable()
	d.call(StartRun{ID: "r", Work: simple(t, "a l:1; b l:1; x; y")})
	d.durable()
	other := simple(t, "c l:1")
	other.Functions = []Function{{"g", 1}}
	d.call(StartRun{ID: "other", Work: other})
	d.durable()
	of := map[string]Send{}
	if got := d.begun(of); got != "1.0 1.2" {
		t.Fatalf("%s begins", got)
	}
	d.ends(of["1.0"])
	if got := d.begun(of); got != "1.3" { // b is called, and waits for a slot
		t.Fatalf("%s begins", got)
	}
	d.see("n2")
	d.durable()
	if got := d.begun(nil); got != "2.0" {
		t.Errorf("%q begins", got)
	}
}
