package workflow

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// A member that leaves gets no attempts, although it has the slots, until the view says that it stays. What it could not carry out
// is no failure of the task.
func TestANodeThatLeavesGetsNoAttempts(t *testing.T) {
	d := started(t, "a")
	_, o := d.order()
	d.durable()
	both := []phalanx.NodeID{"n1", "n2"}
	see := func(leaving ...phalanx.NodeID) {
		d.view++
		d.do(Members{View: ViewNumber{1, d.view}, Nodes: both, Leaving: leaving})
	}
	refuse := func(n phalanx.NodeID) {
		d.do(Heard{n, Report{Epoch: o.Epoch, ID: o.ID, Gen: o.Gen, Kind: o.Kind, Failed: "it leaves", Lost: true}})
		d.durable()
		d.after(time.Minute)
		d.durable()
	}
	see("n1")
	refuse("n1")
	if len(d.orders) > 0 {
		t.Fatalf("%+v, and the only member leaves", d.orders)
	}
	d.tells("n2", Tell{})
	d.durable()
	n, o2 := d.order()
	if n != "n2" {
		t.Fatalf("%s gets the attempt, and it leaves", n)
	}
	o = o2
	see("n2")
	refuse("n2")
	if n, _ = d.order(); n != "n1" {
		t.Errorf("%s gets the attempt, and n1 stays", n)
	}
}
