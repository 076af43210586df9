package workflow

import (
	"fmt"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx"
)

// released returns what the last Release to a member says of each run.
func released(d *desk, n phalanx.NodeID) (all []Released) {
	for _, s := range d.sent {
		if r, is := s.Message.(Release); is && s.To == n {
			all = r.Runs
		}
	}
	return all
}

// As a run ends the objects stay that its results name, whichever task has made them; also if another controller ends it,
// and on a member that says later that it has something of the run.
func TestObjectsThatAResultNamesStay(t *testing.T) {
	d := started(t, "a; b < a")
	n, o := d.order()
	out := small
	out.Names = []string{"wf/a/x"} // those of a, which is no result, are of no use
	d.reports(n, o, out, "")
	d.durable()
	d = newDesk(t, 2, d.rows, "n1", "n2")
	d.tells("n1", Tell{Holds: []Blob{{Run: o.ID.Run, Gen: o.Gen, Made: o.Made}}})
	d.tells("n2", Tell{})
	d.durable()
	n, o = d.order()
	out.Names = []string{"wf/a/y", "wf/a/y"}
	d.reports(n, o, out, "")
	d.durable()
	if r := released(d, n); len(r) != 1 || r[0].Results || fmt.Sprint(r[0].Spares) != "[wf/a/y]" {
		t.Errorf("the member is told %+v", r)
	}
	d = newDesk(t, 3, d.rows, "n1")
	d.tells("n1", Tell{})
	d.do(Heard{"n1", Keeps{Epoch: 3, Runs: []UID{o.ID.Run}}})
	if r := released(d, "n1"); len(r) != 1 || r[0].Results || fmt.Sprint(r[0].Spares) != "[wf/a/y]" {
		t.Errorf("the member that was away is told %+v", r)
	}
	d.do(Heard{"n1", Freed{3, 1}})
	d.call(ForgetRun{ID: "r"})
	d.durable()
	if r := released(d, "n1"); len(r) != 1 || !r[0].Results { // it has no disk, and has the objects
		t.Errorf("after Forget the member is told %+v", r)
	}
	d = newDesk(t, 4, d.rows, "n1")
	d.tells("n1", Tell{})
	d.do(Heard{"n1", Keeps{Epoch: 4, Runs: []UID{o.ID.Run}}})
	if r := released(d, "n1"); len(r) != 1 || !r[0].Results {
		t.Errorf("the member that was away as the run was forgotten is told %+v", r)
	}
}

// A run that is active, or waits, keeps what it has, also if this version cannot read it.
func TestNothingOfARunThatGoesOnIsDropped(t *testing.T) {
	u, waits := UID{1, 1, 1}, UID{1, 1, 2}
	d := newDesk(t, 2, map[string]RowValue{}, "n1")
	d.rows[activeKey(u)], d.rows[waitingKey(waits)] = Active{}, Active{} // the host has told of neither
	d.tells("n1", Tell{Holds: []Blob{{Run: u}, {Run: waits}}})
	d.do(Heard{"n1", Keeps{Epoch: 2, Runs: []UID{u, waits}}})
	if r := released(d, "n1"); len(r) > 0 || len(d.c.strays) > 0 {
		t.Errorf("the member is told %+v", r)
	}
}

// Names of objects are bounded: with more, all objects of the run stay.
func TestManyNames(t *testing.T) {
	if all := sound([]string{"x"}); len(all) != 1 || all[0] != "x" {
		t.Error(all)
	}
	var many []string
	for i := range MaxNames / 100 {
		many = append(many, strings.Repeat("x", 101)+fmt.Sprint(i))
	}
	if all := sound(many); len(all) != 1 || all[0] != "" {
		t.Error(len(all))
	}
}
