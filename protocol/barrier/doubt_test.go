package barrier_test

import (
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/barrier"
)

// nobody knows whether the barrier had fired. The one after it says so all the same.
func TestDoubtIsHandedOver(t *testing.T) {
	c := newCluster(t, 9)
	cfg := barrier.Config{Max: 3}
	gone, before := c.managers(), c.view
	c.view.Number++
	c.view.Members = slices.DeleteFunc(slices.Clone(c.view.Members), func(id phalanx.NodeID) bool { return slices.Contains(gone, id) })
	after, next := c.view, c.managers()[0]
	c.view = before
	on := after.Members[slices.IndexFunc(after.Members, func(id phalanx.NodeID) bool { return id != next })]
	ids := []uint64{c.enter(on, cfg, "a"), c.enter(on, cfg, "b")}
	c.settle()
	c.waits(ids...)
	for _, id := range gone {
		c.kill(id)
	}
	c.lose = func(_, _ phalanx.NodeID, m barrier.Message) bool { return is[barrier.Replicate](m) }
	c.view = after
	for _, id := range c.view.Members {
		c.learn(id)
	}
	c.pass(200 * ms)
	c.lose = nil
	c.view.Number++
	c.view.Leaving = []phalanx.NodeID{next}
	for _, id := range c.view.Members {
		c.learn(id)
	}
	c.pass(2 * time.Second)
	for _, id := range ids {
		c.want(id, barrier.Doubtful)
	}
}

// The managers die one view after the other, before those who replace them have learned anything.
func TestManagersDieOneAfterTheOther(t *testing.T) {
	c := newCluster(t, 9)
	cfg := barrier.Config{Max: 3}
	on := c.bystander()
	old := c.managers()
	c.lose = func(_, to phalanx.NodeID, m barrier.Message) bool {
		a, ok := m.(barrier.Answers)
		return ok && to == on && a.Standing.Cause != barrier.NotFired
	}
	// the last one that enters; it is let through, and never hears of it
	var ids []uint64
	other := c.view.Members[0]
	for _, id := range c.view.Members {
		if id != on && !slices.Contains(old, id) {
			other = id
		}
	}
	first := []uint64{c.enter(other, cfg, "a"), c.enter(other, cfg, "b")}
	c.settle()
	ids = append(ids, c.enter(on, cfg, "c"))
	c.settle()
	for _, id := range first {
		c.want(id, barrier.Fire)
	}
	c.kill(old[0])
	c.lose = func(_, _ phalanx.NodeID, m barrier.Message) bool {
		return is[barrier.Gathered](m) || is[barrier.Answers](m)
	}
	c.remove(old[0])
	c.settle()
	c.kill(old[1])
	c.kill(old[2])
	c.lose = nil
	c.view.Number++
	c.view.Members = slices.DeleteFunc(slices.Clone(c.view.Members), func(id phalanx.NodeID) bool { return id == old[1] || id == old[2] })
	for _, id := range c.view.Members {
		c.learn(id)
	}
	c.pass(3 * time.Second)
	for _, id := range ids {
		c.want(id, barrier.Doubtful)
	}
}
