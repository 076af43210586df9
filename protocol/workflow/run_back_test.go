package workflow

import (
	"testing"
	"time"
)

// A run goes back whose task a was dropped with its output, and has failed since. The undo of b gets what a makes again for it, as
// an object or with the order.
func TestAnUndoGetsAnOutputThatWasDropped(t *testing.T) {
	for _, again := range []Output{{Size: 600}, small} {
		d := newDesk(t, 1, map[string]RowValue{}, "n1", "n2")
		d.tells("n1", Tell{})
		d.durable()
		d.call(StartRun{ID: "r", Work: simple(t, "a off; b u < a; c < a b")})
		d.durable()
		for _, out := range []Output{again, small} {
			n, o := d.order()
			if n != "n1" {
				t.Fatalf("%s gets %+v", n, o)
			}
			d.reports(n, o, out, "")
			d.durable()
		}
		d.order() // c, which is lost with n1, and so is the output of a
		d.tells("n2", Tell{})
		d.see("n2")
		d.durable()
		d.after(time.Second)
		n, o := d.order()
		if o.ID.Task == 2 {
			d.do(Heard{n, Report{Epoch: o.Epoch, ID: o.ID, Gen: o.Gen, Failed: "lost", Missing: []Blob{{Run: o.ID.Run, Made: o.Inputs[0].Made}}}})
			d.durable()
			d.after(time.Second)
			n, o = d.order()
		}
		if o.ID.Task != 0 || o.Kind != Do {
			t.Fatalf("%s gets %+v", n, o)
		}
		d.do(Heard{n, Report{Epoch: o.Epoch, ID: o.ID, Gen: o.Gen, Failed: "no", Final: true}})
		d.durable()
		n, o = d.order()
		if o.ID.Task != 0 || o.Kind != Remake {
			t.Fatalf("%s gets %+v", n, o)
		}
		d.reports(n, o, again, "")
		d.durable()
		n, o = d.order()
		if o.ID.Task != 1 || o.Kind != TakeBack {
			t.Fatalf("%s gets %+v", n, o)
		}
		if in := o.Inputs[0].Output; in.Size != again.Size || string(in.Bytes) != string(again.Bytes) {
			t.Errorf("the undo gets %+v, and the task had %+v", in, again)
		}
	}
}
