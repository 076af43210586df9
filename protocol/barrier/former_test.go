package barrier_test

import (
	"fmt"
	"slices"
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

// joinAsPrimary has a member join that becomes the barrier's primary, and whose clock begins.
func (c *clusterOf) joinAsPrimary() {
	for i := 0; ; i++ {
		id := phalanx.MakeNodeID(fmt.Sprint("p", i), 300)
		v := c.view
		v.Members = append(v.Members[:len(v.Members):len(v.Members)], id)
		if barrier.ManagersOf(v, key.Name)[0] == id {
			c.behind[id] = c.now
			c.add(id)
			return
		}
	}
}

// A former backup has a barrier as it was before it fired. When nobody else has a replica, the
// barrier does not fire again, also if its name had been removed once, and whatever the age of
// the node that becomes its primary.
func TestAFormerBackupOfABarrierThatFires(t *testing.T) {
	for _, removed := range []bool{false, true} {
		for _, young := range []bool{false, true} {
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
			if young {
				c.joinAsPrimary()
			} else {
				c.joinAs(200) // there is a gathering
			}
			c.pass(3 * time.Second)
			z := c.enter(on, partial, "e")
			c.pass(time.Second)
			if d := c.done[z]; d.Verdict != barrier.Behind {
				t.Errorf("removed: %v, a new primary: %v: the third is told %+v", removed, young, d)
			}
		}
	}
}

// A former backup that leaves hands over a barrier as it was before it fired. The only member that stays
// knows that it has fired, and no backup can say so: it does not fire again, also if its name had been
// removed once, and the former backup forgets it.
func TestAFormerBackupHandsOverABarrierThatHasFired(t *testing.T) {
	for _, removed := range []bool{false, true} {
		c := newCluster(t, 6)
		on := c.outsiders()[0]
		if removed {
			c.firedAndForgotten(on)
			c.removeBarrier(on)
			c.pass(time.Second)
		}
		a := c.enter(on, partial, "c")
		c.settle()
		c.waits(a)
		before := c.managers()
		c.unforgotten()
		i := slices.IndexFunc(before, func(id phalanx.NodeID) bool { return !slices.Contains(c.managers(), id) })
		former, stays := before[i], c.managers()[0]
		b := c.enter(on, partial, "d")
		c.pass(time.Second)
		c.want(a, barrier.Fire)
		c.want(b, barrier.Fire)
		c.jump(11 * time.Second)
		c.jump(time.Second)
		forgets := 0
		c.lose = func(from, to phalanx.NodeID, m barrier.Message) bool {
			if from == stays && to == former && is[barrier.Forget](m) {
				forgets++
			}
			return false
		}
		c.view.Leaving = slices.DeleteFunc(slices.Clone(c.view.Members), func(id phalanx.NodeID) bool { return id == stays || id == former })
		if c.leaves(former); c.handedOver(former) {
			t.Fatal("the former backup has nothing to hand over")
		}
		c.pass(2 * time.Second)
		if forgets == 0 || !c.handedOver(former) {
			t.Errorf("removed: %v: the former backup hears %d times that it is to forget the barrier, and has handed over: %v", removed, forgets, c.handedOver(former))
		}
		late := c.enter(on, partial, "e")
		c.pass(time.Second)
		if d := c.done[late]; d.Verdict != barrier.Behind {
			t.Errorf("removed: %v: the third is told %+v", removed, d)
		}
	}
}

// The only member that stays remembers that a barrier has fired, and has not heard that it was removed since:
// the primary died that would have said so. The next barrier of that name goes on there.
func TestABarrierIsHandedOverAfterARemovalThatWasNotHeard(t *testing.T) {
	c := newCluster(t, 6)
	before := c.managers()
	c.firedAndForgotten(c.outsiders()[0])
	c.joinAs(100)
	c.pass(time.Second)
	i := slices.IndexFunc(before, func(id phalanx.NodeID) bool { return !slices.Contains(c.managers(), id) })
	stays, primary := before[i], c.managers()[0]
	on := c.outsiders()[0]
	if on == stays {
		on = c.outsiders()[1]
	}
	c.lose = func(_, _ phalanx.NodeID, m barrier.Message) bool { return is[barrier.Over](m) }
	c.removeBarrier(on)
	c.pass(time.Second)
	a := c.enter(on, partial, "c")
	c.pass(100 * ms)
	c.waits(a)
	c.kill(primary)
	c.view.Leaving = slices.DeleteFunc(slices.Clone(c.view.Members), func(id phalanx.NodeID) bool { return id == stays })
	c.remove(primary)
	c.lose = nil
	c.pass(2 * time.Second)
	c.waits(a)
	b := c.enter(on, partial, "d")
	c.pass(time.Second)
	c.want(a, barrier.Fire)
	c.want(b, barrier.Fire)
}

// Barriers that have fired and are forgotten are removed at once, also while it takes long to
// tell all members of the first.
func TestRemovalsOfForgottenBarriers(t *testing.T) {
	c := newCluster(t, 3)
	primary, on := c.view.Members[0], c.view.Members[1]
	var names []string
	for i := 0; len(names) < 4; i++ {
		if name := fmt.Sprint("many/", i); barrier.ManagersOf(c.view, name)[0] == primary {
			names = append(names, name)
			c.named(on, name, partial, "a")
			c.named(on, name, partial, "b")
			c.settle()
		}
	}
	c.jump(12 * time.Second)
	c.jump(time.Second)
	lost := 0
	c.lose = func(_, _ phalanx.NodeID, m barrier.Message) bool {
		if is[barrier.Over](m) {
			lost++
		}
		return is[barrier.Over](m) && lost <= 5
	}
	var calls []uint64
	for _, name := range names {
		calls = append(calls, c.call(on, barrier.Call{Kind: barrier.CallRemove, Key: barrier.Key{Name: name}}))
	}
	c.pass(2 * time.Second)
	for i, id := range calls {
		if d, ok := c.done[id]; !ok || d.Outcome != barrier.OK {
			t.Errorf("removal %d: %+v, %v", i, d, ok)
		}
	}
}

// Who enters after a removal waits in a new barrier, also if managers hear late of the removal
// and remember that the old one has fired.
func TestAnEntryAfterARemovalThatIsHeardLate(t *testing.T) {
	for _, up := range []time.Duration{0, time.Minute} {
		c := newCluster(t, 8)
		c.jump(up)
		on := c.outsiders()[0]
		c.enter(on, partial, "a")
		c.enter(on, partial, "b")
		c.settle()
		c.jump(12 * time.Second)
		c.jump(time.Second)
		c.lose = func(_, _ phalanx.NodeID, m barrier.Message) bool { return is[barrier.Over](m) }
		c.removeBarrier(on)
		x := c.enter(on, partial, "c")
		c.pass(100 * ms)
		c.waits(x)
		c.lose = nil
		c.pass(time.Second)
		c.waits(x)
		y := c.enter(on, partial, "d")
		c.pass(time.Second)
		c.want(x, barrier.Fire)
		c.want(y, barrier.Fire)
	}
}
