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
