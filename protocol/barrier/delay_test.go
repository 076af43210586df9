package barrier_test

import (
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/barrier"
)

// A former primary has waited for the node that is the primary now. Its word comes late, and says nothing
// of the present primary.
func TestAFormerPrimaryWaitedForThePresentOne(t *testing.T) {
	c := newCluster(t, 5)
	on, former, present := c.bystander(), c.managers()[0], c.managers()[1]
	var late []flying
	c.lose = func(from, to phalanx.NodeID, m barrier.Message) bool {
		if a, is := m.(barrier.Answers); is && to == on && slices.Contains(a.Awaits, present) {
			late = append(late, flying{from, to, m})
			return true
		}
		return from == present || to == present
	}
	a := c.enter(on, barrier.Config{Max: 2}, "a")
	c.pass(300 * ms)
	if len(late) == 0 {
		t.Fatal("the primary says nothing")
	}
	c.lose = func(_, to phalanx.NodeID, _ barrier.Message) bool { return to == on }
	c.leaves(former)
	if c.managers()[0] != present {
		t.Fatalf("the managers are %v", c.managers())
	}
	c.queue = append(c.queue, late...)
	c.pass(100 * ms)
	c.given = nil
	c.step(on, barrier.GiveUp{ID: a})
	c.pass(2 * time.Second)
	if len(c.given) != 1 || len(c.given[0].Awaits) > 0 || c.given[0].Culprit() != present {
		t.Errorf("%+v, which blames %q", c.given, c.given[0].Culprit())
	}
}
