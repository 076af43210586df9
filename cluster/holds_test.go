package cluster

import (
	"testing"

	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// What services hold counts against the cap, each service's in place of what it said before.
func TestServicesCountAgainstTheCap(t *testing.T) {
	n := &Node{budget: dataplane.NewBudget(1 << 20)}
	for _, step := range []struct {
		service string
		holds   int64
		used    int64
	}{
		{"barriers", 1000, 1000}, {"groups", 500, 1500}, {"barriers", 200, 700}, {"barriers", 200, 700}, {"groups", 0, 200}, {"barriers", 2 << 20, 2 << 20}, {"barriers", 0, 0},
	} {
		n.Holds(step.service, step.holds)
		if used := n.budget.Used(); used != step.used || n.heldByServices() != step.used {
			t.Errorf("%s holds %d: %d are used, %d by services, and not %d", step.service, step.holds, used, n.heldByServices(), step.used)
		}
		if _, reserved := n.budget.Lasting(); reserved != step.used {
			t.Errorf("%s holds %d: %d count as what eviction does not give back", step.service, step.holds, reserved)
		}
	}
}

// A service has handed over when it says so as of the present view.
func TestServicesHandOver(t *testing.T) {
	n := &Node{}
	if all := n.notHandedOver(7); len(all) > 0 {
		t.Errorf("%v have something to hand over, and have never said so", all)
	}
	n.Remains("barriers", 7, 0)
	for view, left := range map[uint64]int{6: 0, 7: 0, 8: 1} {
		if all := n.notHandedOver(view); len(all) != left {
			t.Errorf("in view %d: %v", view, all)
		}
	}
	if n.Remains("barriers", 8, 2); len(n.notHandedOver(8)) != 1 {
		t.Error("a service that has two things to hand over has handed over")
	}
}
