package workflow

import (
	"errors"
	"testing"

	"github.com/phalanx-go/phalanx"
)

// A controller does not check a workflow again that its host has checked, and a second run does not share what the first has.
func TestAWorkflowIsCheckedOnce(t *testing.T) {
	d := newDesk(t, 1, map[string]RowValue{}, "n1")
	w := simple(t, "a; b < a")
	if err := w.Check(); err != nil {
		t.Fatal(err)
	}
	checked := w.events
	if checked == nil {
		t.Fatal("nothing is kept of the check")
	}
	d.call(StartRun{ID: "r1", Work: w})
	d.call(StartRun{ID: "r2", Work: w})
	d.durable()
	one, two := d.c.ids["r1"].run.x.scopes[0].Events, d.c.ids["r2"].run.x.scopes[0].Events
	if one != checked || two == checked || two == nil || w.events != nil {
		t.Error("the first run has not what was checked, or shares it")
	}
}

// The host that checks a workflow hears the same error as the caller of the controller.
func TestAWrongWorkflowIsRefused(t *testing.T) {
	w := simple(t, "a nd,off; x! < a")
	if err := w.Check(); !errors.As(err, new(*CheckError)) {
		t.Error(err)
	}
	d := newDesk(t, 1, map[string]RowValue{}, "n1")
	d.refuses(d.call(StartRun{ID: "r", Work: w}), phalanx.ErrInvalid, "x")
}
