package barrier_test

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/protocol/barrier"
)

// A primary that has just joined has no lease yet. It answers as soon as it has one, and not
// when it is asked again.
func TestAPrimaryWithoutALeaseKeepsWhatItIsAsked(t *testing.T) {
	c := newCluster(t, 6)
	primary := c.managers()[0]
	c.cores[primary] = barrier.NewCore(barrier.CoreConfig{})
	c.learn(primary)
	on := c.outsiders()
	a, b := c.enter(on[0], partial, "a"), c.enter(on[1], partial, "b")
	c.pass(160 * ms) // they are repeated meanwhile
	if _, early := c.done[a]; early {
		t.Fatal("a primary without a lease lets somebody in")
	}
	c.step(primary, barrier.Leased{Until: c.now + time.Hour})
	c.settle() // time stands still
	c.want(a, barrier.Fire)
	c.want(b, barrier.Fire)
}
