package barrier_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/barrier"
)

// The managers of a barrier that has fired leave one after another: who comes then is late.
func TestManagersThatLeaveHandOver(t *testing.T) {
	nodes := start(t, 7)
	cfg := barrier.Config{Max: 1}
	name, managers := "", []phalanx.NodeID(nil)
	for i := 0; managers == nil || slices.Contains(managers, nodes[0].ID()); i++ {
		name = fmt.Sprint("handed", i)
		if _, err := open(t, nodes[0], name, cfg).Enter(within(t), barrier.Entry{Host: "a"}); err != nil {
			t.Fatal(err)
		}
		managers = managed(t, nodes[0], name, 1)
	}
	left := 0
	for _, n := range nodes {
		if slices.Contains(managers, n.ID()) {
			if err := n.Leave(within(t)); err != nil {
				t.Fatal(err)
			}
			left++
		}
	}
	if left != len(managers) || left != 3 {
		t.Fatalf("%d of the managers %v have left", left, managers)
	}
	if p, err := open(t, nodes[0], name, cfg).Enter(within(t), barrier.Entry{Host: "b"}); err != nil || !p.Late {
		t.Errorf("%+v, %v", p, err)
	}
}
