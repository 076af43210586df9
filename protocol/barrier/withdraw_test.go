package barrier_test

import (
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/barrier"
)

// giveUp gives a call up, and returns what came of that.
func (c *clusterOf) giveUp(on phalanx.NodeID, id uint64) (given barrier.GivenUp, ok bool) {
	c.given = nil
	c.step(on, barrier.GiveUp{ID: id})
	c.settle()
	for _, g := range c.given {
		if g.ID == id {
			return g, true
		}
	}
	return given, false
}

// An entry that is given up does not count, until it enters again.
func TestWithdraw(t *testing.T) {
	c := newCluster(t, 4)
	cfg, on := barrier.Config{Max: 3}, c.bystander()
	a := c.enter(on, cfg, "a")
	c.settle()
	if g, ok := c.giveUp(on, a); !ok || !g.Withdrawn {
		t.Fatalf("%+v, %v", g, ok)
	}
	b, d := c.enter(on, cfg, "b"), c.enter(c.managers()[0], cfg, "d")
	c.pass(time.Second)
	c.waits(b, d)
	a = c.enter(on, cfg, "a")
	c.pass(10 * ms)
	for _, id := range []uint64{a, b, d} {
		c.want(id, barrier.Fire)
	}
}

func TestAnotherConfigAfterAllHaveWithdrawn(t *testing.T) {
	c := newCluster(t, 4)
	on := c.bystander()
	id := c.enter(on, barrier.Config{Max: 3}, "a")
	c.settle()
	c.giveUp(on, id)
	two := barrier.Config{Max: 2}
	a, b := c.enter(on, two, "a"), c.enter(c.managers()[0], two, "b")
	c.pass(10 * ms)
	c.want(a, barrier.Fire)
	c.want(b, barrier.Fire)
}

// A caller that gives up what has fired already is told so, as soon as it can hear it.
func TestWithdrawAfterItHasFired(t *testing.T) {
	c := newCluster(t, 4)
	cfg, on := barrier.Config{Max: 2}, c.bystander()
	a := c.enter(on, cfg, "a")
	c.settle()
	c.lose = func(_, to phalanx.NodeID, m barrier.Message) bool { return to == on && is[barrier.Answers](m) }
	b := c.enter(c.managers()[0], cfg, "b")
	c.settle()
	c.want(b, barrier.Fire)
	if g, ok := c.giveUp(on, a); ok {
		t.Fatalf("it is not known what comes of it: %+v", g)
	}
	c.lose = nil
	c.pass(200 * ms)
	c.want(a, barrier.Fire)
}

// While nobody answers, who gives up waits for a second, and is not told that it does not
// count. It withdraws when it can.
func TestWithdrawUnheard(t *testing.T) {
	c := newCluster(t, 4)
	cfg, on := barrier.Config{Max: 2}, c.bystander()
	a := c.enter(on, cfg, "a")
	c.settle()
	c.lose = func(from, _ phalanx.NodeID, m barrier.Message) bool { return from == on }
	if g, ok := c.giveUp(on, a); ok {
		t.Fatalf("%+v", g)
	}
	c.pass(1100 * ms)
	if len(c.given) != 1 || c.given[0].ID != a || c.given[0].Withdrawn {
		t.Fatalf("%+v", c.given)
	}
	c.lose = nil
	c.pass(2 * time.Second)
	b := c.enter(c.managers()[0], cfg, "b")
	c.pass(time.Second)
	c.waits(b)
}

// A late copy of a withdrawal does not take back what has entered since, and a late copy of
// an entry does not enter again.
func TestLateCopiesOfAWithdrawal(t *testing.T) {
	c := newCluster(t, 4)
	cfg, on := barrier.Config{Max: 2}, c.bystander()
	var copies []barrier.Message
	c.lose = func(from, _ phalanx.NodeID, m barrier.Message) bool {
		if from == on && is[barrier.Reached](m) {
			copies = append(copies, m)
		}
		return false
	}
	a := c.enter(on, cfg, "a")
	c.settle()
	c.giveUp(on, a)
	again := func() {
		for _, m := range copies {
			c.step(c.managers()[0], barrier.Heard{From: on, Message: m})
			c.settle()
		}
	}
	again() // the entry, and its withdrawal
	b := c.enter(c.managers()[0], cfg, "b")
	c.step(c.managers()[0], barrier.Heard{From: on, Message: copies[0]})
	c.settle()
	c.pass(time.Second)
	c.waits(b)
	a = c.enter(on, barrier.Config{Max: 2}, "a")
	c.settle()
	c.want(a, barrier.Fire)
	c.want(b, barrier.Fire)
}

// A message of an actor that has begun anew since, whose caller went with it, enters nobody.
func TestAnEntryThatNobodyAskedFor(t *testing.T) {
	c := newCluster(t, 4)
	cfg, on := barrier.Config{Max: 2}, c.bystander()
	c.enter(on, cfg, "a")
	c.cores[on] = barrier.NewCore(barrier.CoreConfig{Attempts: 1 << 40})
	c.learn(on)
	c.settle() // the message arrives
	b := c.enter(c.managers()[0], cfg, "b")
	c.pass(time.Second)
	c.waits(b)
}

// A caller gives up, once its actor has begun anew and before it has a view: its entry, which managers
// know, is withdrawn.
func TestWithdrawWhileTheActorBeginsAnew(t *testing.T) {
	c := newCluster(t, 4)
	cfg, on := barrier.Config{Max: 2}, c.bystander()
	id := c.enter(on, cfg, "a")
	c.settle()
	c.cores[on] = barrier.NewCore(barrier.CoreConfig{Attempts: 1 << 40})
	c.step(on, barrier.Call{ID: id, Kind: barrier.CallEnter, Key: key, Config: cfg, Entry: barrier.Entry{Host: "a"}, Again: true})
	c.step(on, barrier.GiveUp{ID: id})
	c.learn(on)
	c.settle()
	if len(c.given) != 1 || c.given[0].ID != id || !c.given[0].Withdrawn {
		t.Fatalf("%+v", c.given)
	}
	b := c.enter(c.managers()[0], cfg, "b")
	c.pass(time.Second)
	c.waits(b)
}

// What is withdrawn is not remembered for long.
func TestWithdrawnBarriersAreForgotten(t *testing.T) {
	c := newCluster(t, 4)
	cfg, on := barrier.Config{Max: 3}, c.bystander()
	id := c.enter(on, cfg, "a")
	c.settle()
	c.giveUp(on, id)
	c.pass(12 * time.Second)
	if all := c.cores[c.managers()[0]].Seen(); len(all) != 0 {
		t.Errorf("%+v", all)
	}
}

// Where only one whose node is gone has entered, who comes with another Config begins anew.
func TestAnotherConfigAfterTheOthersAreGone(t *testing.T) {
	c := newCluster(t, 5)
	managers := c.managers()
	var others []phalanx.NodeID
	for _, id := range c.view.Members {
		if !slices.Contains(managers, id) {
			others = append(others, id)
		}
	}
	cfg := barrier.Config{Max: 4}
	c.enter(others[0], cfg, "dies")
	id := c.enter(others[1], cfg, "lives")
	c.settle()
	c.kill(others[0])
	c.remove(others[0])
	c.settle()
	c.pass(100 * ms)
	c.giveUp(others[1], id)
	c.pass(10 * ms)
	two := barrier.Config{Max: 2}
	a, b := c.enter(others[1], two, "lives"), c.enter(managers[0], two, "too")
	c.pass(100 * ms)
	c.want(a, barrier.Fire)
	c.want(b, barrier.Fire)
}

// A late answer to an entry that was withdrawn does not count for its next attempt, whose
// question was lost.
func TestLateAnswerToAWithdrawnEntry(t *testing.T) {
	c := newCluster(t, 4)
	cfg, on := barrier.Config{Max: 2}, c.bystander()
	primary := c.managers()[0]
	var late barrier.Message
	c.lose = func(from, _ phalanx.NodeID, m barrier.Message) bool {
		if a, ok := m.(barrier.Answers); ok && from == primary && late == nil && len(a.List) == 1 && a.List[0].Verdict == barrier.Registered {
			late = a
		}
		return false
	}
	a := c.enter(on, cfg, "a")
	c.settle()
	c.giveUp(on, a)
	c.lose = func(from, _ phalanx.NodeID, m barrier.Message) bool { return from == on && is[barrier.Reached](m) }
	a = c.enter(on, cfg, "a")
	c.settle()
	c.lose = nil
	c.step(on, barrier.Heard{From: primary, Message: late})
	b := c.enter(primary, cfg, "b")
	c.pass(3 * time.Second)
	c.want(a, barrier.Fire)
	c.want(b, barrier.Fire)
}

// A withdrawal that overtakes its entry keeps that out, also where the entry had withdrawn
// before.
func TestWithdrawalThatOvertakesASecondEntry(t *testing.T) {
	d := newDrive(t, barrier.Config{Max: 2})
	op := func(kind barrier.OpKind, attempt uint64) {
		d.apply(barrier.Op{Kind: kind, At: ms, Entry: host(0), Node: "n#1", Attempt: attempt})
	}
	op(barrier.OpEnter, 1)
	op(barrier.OpRelease, 1)
	op(barrier.OpRelease, 3)
	op(barrier.OpEnter, 3)
	if d.enter(1, 2*ms); d.Cause != barrier.NotFired || d.Units != 1 {
		t.Errorf("%d units, %s", d.Units, d.Cause)
	}
	op(barrier.OpEnter, 4)
	if d.Cause != barrier.ByMax {
		t.Errorf("%d units, %s", d.Units, d.Cause)
	}
}
