package barrier_test

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/barrier"
)

// unforgotten has a backup of the barrier become a former one that is never told so.
func (c *clusterOf) unforgotten() {
	c.lose = func(_, _ phalanx.NodeID, m barrier.Message) bool { return is[barrier.Forget](m) }
	c.joinAs(100)
	c.pass(time.Second)
	c.lose = nil
}

// What a former backup knows of a barrier that has fired, and was removed since, does not
// count. Nobody who enters under the name is late, and nobody passes alone.
func TestAFormerBackupOfARemovedBarrier(t *testing.T) {
	c := newCluster(t, 8)
	on := c.outsiders()[0]
	c.enter(on, partial, "a")
	c.enter(on, partial, "b")
	c.settle()
	c.unforgotten()
	c.removeBarrier(on)
	c.pass(time.Second)
	x := c.enter(on, partial, "c")
	c.pass(100 * ms)
	c.jump(25 * time.Second)
	c.pass(time.Second)
	c.waits(x)
	c.step(on, barrier.GiveUp{ID: x})
	c.pass(time.Second)
	for range 3 {
		c.jump(61 * time.Second)
	}
	z := c.enter(on, partial, "e")
	c.pass(time.Second)
	c.waits(z)
}

// A former backup has a barrier as it was before it fired. When it is all that is left of it,
// it does not fire again, also if the name had been removed once.
func TestAFormerBackupOfABarrierThatFires(t *testing.T) {
	for _, removed := range []bool{false, true} {
		c := newCluster(t, 8)
		on := c.outsiders()[0]
		if removed {
			c.enter(on, partial, "a")
			c.enter(on, partial, "b")
			c.settle()
			c.jump(11 * time.Second)
			c.jump(time.Second)
			c.removeBarrier(on)
			c.pass(time.Second)
		}
		x := c.enter(on, partial, "c")
		c.settle()
		c.waits(x)
		c.unforgotten()
		y := c.enter(on, partial, "d")
		c.pass(time.Second)
		c.want(x, barrier.Fire)
		c.want(y, barrier.Fire)
		c.jump(11 * time.Second)
		c.jump(time.Second)
		c.pass(time.Second)
		c.joinAs(200) // there is a gathering
		c.pass(3 * time.Second)
		z := c.enter(on, partial, "e")
		c.pass(time.Second)
		if c.want(z, barrier.Behind); t.Failed() {
			t.Fatalf("removed: %v", removed)
		}
	}
}
