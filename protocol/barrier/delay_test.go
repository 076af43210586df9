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

// A caller at the primary's own node hears what holds the primary up, whatever it has called: another
// member, or that the primary has no lease. It blames not its own node.
func TestTheCallerIsAtThePrimary(t *testing.T) {
	for _, silent := range []bool{false, true} {
		c := newCluster(t, 6)
		primary, other, want := c.unleased(), c.outsiders()[0], phalanx.NodeID("")
		if silent {
			want = other
			c.lose = func(from, _ phalanx.NodeID, _ barrier.Message) bool { return from == other }
			c.kill(c.outsiders()[1])
			c.remove(c.outsiders()[1]) // the primary asks all members anew
			if c.managers()[0] != primary {
				t.Fatalf("the managers are %v", c.managers())
			}
		}
		cfg := barrier.Config{Max: 2}
		ids, kinds := []uint64{c.enter(primary, cfg, "a")}, []barrier.CallKind{barrier.CallRemove}
		if silent { // else these are answered without a lease
			kinds = append(kinds, barrier.CallHosts, barrier.CallConfig)
		}
		for _, kind := range kinds {
			ids = append(ids, c.call(primary, barrier.Call{Kind: kind, Key: key}))
		}
		c.pass(100 * ms)
		c.given = nil
		for _, id := range ids {
			c.step(primary, barrier.GiveUp{ID: id})
		}
		c.pass(2 * time.Second)
		if len(c.given) != len(ids) {
			t.Errorf("%d have given up", len(c.given))
		}
		for _, g := range c.given {
			if g.Primary != primary || g.Heard || !g.Unleased || g.Culprit() != want {
				t.Errorf("%+v, which blames %q, want %q", g, g.Culprit(), want)
			}
		}
	}
}

// A caller gives up while something holds the primary up: the primary itself hangs until it is removed, or a
// backup does not confirm for a while. Then a primary answers that the entry is withdrawn. The error blames
// the node that has held up the caller, and not the primary that has answered.
func TestTheCulpritIsThatOfTheTimeOfGivingUp(t *testing.T) {
	for _, hangs := range []bool{true, false} {
		c := newCluster(t, 5)
		on, primary, culprit := c.bystander(), c.managers()[0], c.managers()[0]
		if !hangs {
			c.enter(on, barrier.Config{Max: 3}, "b")
			c.pass(100 * ms)
			culprit = c.managers()[1]
		}
		c.lose = func(from, to phalanx.NodeID, _ barrier.Message) bool { return from == culprit || to == culprit }
		a := c.enter(on, barrier.Config{Max: 3}, "a")
		c.pass(300 * ms)
		c.given = nil
		c.step(on, barrier.GiveUp{ID: a})
		c.pass(100 * ms)
		if hangs {
			c.kill(primary)
			c.remove(primary)
		} else {
			c.lose = nil
		}
		c.pass(500 * ms)
		if len(c.given) != 1 || !c.given[0].Withdrawn || c.given[0].Culprit() != culprit {
			t.Errorf("the primary hangs: %v: %+v, want that %s is blamed", hangs, c.given, culprit)
		}
	}
}
