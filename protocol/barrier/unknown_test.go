package barrier_test

import (
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/barrier"
)

// massacre kills all managers of the barrier at once.
func (c *clusterOf) massacre() {
	gone := c.managers()
	for _, id := range gone {
		c.kill(id)
	}
	c.view.Number++
	c.view.Members = slices.DeleteFunc(slices.Clone(c.view.Members), func(id phalanx.NodeID) bool { return slices.Contains(gone, id) })
	for _, id := range c.view.Members {
		c.learn(id)
	}
	c.pass(2 * time.Second)
}

// All managers die at once. It is not known whether the barrier had fired, and those who wait
// are told so, whether they had an answer or not; also those who come later.
func TestWhetherABarrierHadFiredIsNotKnown(t *testing.T) {
	for name, lose := range map[string]func(from, to phalanx.NodeID, m barrier.Message) bool{
		"it had not":                  nil,
		"it had, and nobody was told": func(_, _ phalanx.NodeID, m barrier.Message) bool { return is[barrier.Answers](m) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 8)
			cfg := barrier.Config{Max: 3}
			on := c.bystander()
			c.lose = lose
			ids := []uint64{c.enter(on, cfg, "a"), c.enter(on, cfg, "b")}
			if lose != nil {
				ids = append(ids, c.enter(on, cfg, "c"))
			}
			c.settle()
			c.waits(ids...)
			c.lose = nil
			c.massacre()
			ids = append(ids, c.enter(c.bystander(), cfg, "d"))
			c.pass(2 * time.Second)
			for _, id := range ids {
				c.want(id, barrier.Doubtful)
			}
			other := c.call(on, barrier.Call{Kind: barrier.CallEnter, Key: barrier.Key{Name: key.Name, Generation: 1}, Config: barrier.Config{Max: 1}, Entry: barrier.Entry{Host: "a"}})
			c.pass(time.Second)
			c.want(other, barrier.Fire)
		})
	}
}

// One who gives up while that is so is not told that it has not entered.
func TestWhoGivesUpMayHavePassed(t *testing.T) {
	c := newCluster(t, 8)
	on := c.bystander()
	id := c.enter(on, barrier.Config{Max: 2}, "a")
	c.settle()
	managers := c.managers()
	c.lose = func(from, to phalanx.NodeID, _ barrier.Message) bool {
		return slices.Contains(managers, from) || slices.Contains(managers, to)
	}
	c.step(on, barrier.GiveUp{ID: id})
	c.lose = nil
	c.massacre()
	c.want(id, barrier.Doubtful)
}

// One manager lives: what it knows counts, and nobody is told that it is not known.
func TestOneManagerKnowsWhetherItHadFired(t *testing.T) {
	c := newCluster(t, 8)
	cfg := barrier.Config{Max: 2}
	on := c.bystander()
	a := c.enter(on, cfg, "a")
	c.settle()
	for _, id := range c.managers()[:2] {
		c.kill(id)
		c.view.Members = slices.DeleteFunc(slices.Clone(c.view.Members), func(n phalanx.NodeID) bool { return n == id })
	}
	c.view.Number++
	for _, id := range c.view.Members {
		c.learn(id)
	}
	c.pass(time.Second)
	c.waits(a)
	b := c.enter(on, cfg, "b")
	c.pass(time.Second)
	c.want(a, barrier.Fire)
	c.want(b, barrier.Fire)
}
