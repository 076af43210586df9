package barrier_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/barrier"
)

// leaves marks a node as leaving.
func (c *clusterOf) leaves(id phalanx.NodeID) {
	c.view.Number++
	c.view.Leaving = append(c.view.Leaving[:len(c.view.Leaving):len(c.view.Leaving)], id)
	for _, n := range c.view.Members {
		c.learn(n)
	}
}

// handedOver reports whether a node that leaves has nothing to hand over, as of the present view.
func (c *clusterOf) handedOver(id phalanx.NodeID) bool {
	view, left := c.cores[id].Remains()
	return view == c.view.Number && left == 0
}

// Nodes leave one after another, as soon as each has handed over: a barrier that has fired stays known,
// although nobody asks about it, and messages are lost.
func TestNodesThatLeaveHandOver(t *testing.T) {
	c := newCluster(t, 8)
	on, cfg := c.outsiders()[0], barrier.Config{Max: 1}
	a := c.enter(on, cfg, "a")
	c.settle()
	c.want(a, barrier.Fire)
	lost := 0
	c.lose = func(_, _ phalanx.NodeID, m barrier.Message) bool {
		lost++
		return lost%5 == 0
	}
	for range 3 {
		m := c.managers()[0]
		if c.leaves(m); c.handedOver(m) {
			t.Errorf("%s has handed over at once", m)
		}
		for i := 0; !c.handedOver(m); i++ {
			if c.pass(10 * ms); i > 200 {
				t.Fatalf("%s does not hand over", m)
			}
		}
		c.kill(m)
		c.view.Leaving = nil
		c.remove(m)
	}
	late := c.enter(c.outsiders()[0], cfg, "b")
	c.pass(time.Second)
	c.want(late, barrier.LateFire)
}

// A node that leaves hands over many barriers although the primary of some does not answer.
func TestASilentPrimaryHoldsUpNoOther(t *testing.T) {
	c := newCluster(t, 6)
	on, m := c.outsiders()[0], c.managers()[0]
	for i := range 4000 {
		c.named(on, fmt.Sprint("b", i), barrier.Config{Max: 1}, "x") // they fire: no participant asks
	}
	c.pass(time.Second)
	c.leaves(m)
	silent := barrier.ManagersOf(c.view, "b0")[0] // of the barrier that is asked about first
	c.lose = func(_, to phalanx.NodeID, b barrier.Message) bool { return to == m && is[barrier.Forget](b) }
	_, before := c.cores[m].Remains()
	c.pass(time.Second)
	c.lose = func(from, to phalanx.NodeID, _ barrier.Message) bool { return from == m && to == silent }
	c.pass(2 * time.Second)
	if _, left := c.cores[m].Remains(); before < 800 || left > before/3 {
		t.Errorf("of %d barriers %d were not handed over", before, left)
	}
	c.lose = nil
	c.pass(2 * time.Second)
	if !c.handedOver(m) {
		t.Error("it has not handed over")
	}
}

// A node is needed until the backups have what it has, however often it asks.
func TestANodeIsNeededUntilTheBackupsHaveWhatItHas(t *testing.T) {
	c := newCluster(t, 8)
	a := c.enter(c.outsiders()[0], barrier.Config{Max: 1}, "a")
	c.settle()
	c.want(a, barrier.Fire)
	m := c.managers()[0]
	c.lose = func(_, _ phalanx.NodeID, b barrier.Message) bool { return is[barrier.Replicate](b) }
	c.leaves(m)
	c.pass(time.Second)
	if c.handedOver(m) {
		t.Error("it has handed over, and the backups have nothing")
	}
	c.lose = nil
	c.pass(time.Second)
	if !c.handedOver(m) {
		t.Error("it has not handed over")
	}
}

// The last node that leaves hands over nothing, and nor do nodes that all leave together.
func TestAllLeave(t *testing.T) {
	c := newCluster(t, 3)
	a := c.enter(c.view.Members[0], barrier.Config{Max: 1}, "a")
	c.settle()
	c.want(a, barrier.Fire)
	for _, n := range c.view.Members {
		c.leaves(n)
	}
	c.pass(100 * ms)
	for _, n := range c.view.Members {
		if !c.handedOver(n) {
			t.Errorf("%s has something to hand over", n)
		}
	}
}

// A node that has handed over and then stays is the primary of barriers that it does not know any
// more. It gathers, so that one that has fired stays so when those go that know it.
func TestStaysAfterHandingOver(t *testing.T) {
	c := newCluster(t, 8)
	on := c.outsiders()[0]
	a := c.enter(on, barrier.Config{Max: 1}, "a")
	c.settle()
	c.want(a, barrier.Fire)
	m := c.managers()[0]
	c.leaves(m)
	c.pass(500 * ms)
	if !c.handedOver(m) {
		t.Fatal("it has not handed over")
	}
	c.view.Number++
	c.view.Leaving = nil
	for _, n := range c.view.Members {
		c.learn(n)
	}
	c.pass(time.Second)
	for range 3 {
		v := c.managers()[1] // never the primary
		c.kill(v)
		c.remove(v)
		c.pass(time.Second)
	}
	late := c.enter(c.outsiders()[0], barrier.Config{Max: 1}, "b")
	c.pass(time.Second)
	c.want(late, barrier.LateFire)
}
