package barrier_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/barrier"
)

func double(n int) barrier.Config { return barrier.Config{Max: n, Double: true} }

func (c *clusterOf) leave(on phalanx.NodeID, cfg barrier.Config, host string) uint64 {
	return c.call(on, barrier.Call{Kind: barrier.CallLeave, Key: key, Config: cfg, Entry: barrier.Entry{Host: host}})
}

// Those who have passed a double barrier leave it together, whoever manages it then.
func TestDouble(t *testing.T) {
	c := newCluster(t, 7)
	on, cfg := c.outsiders(), double(3)
	outside := c.leave(on[0], cfg, "h0")
	c.settle()
	c.want(outside, barrier.Doubtful) // nothing is known of the barrier
	for i := range 3 {
		c.enter(on[i], cfg, fmt.Sprint("h", i))
	}
	c.settle()
	first := c.leave(on[0], cfg, "h0")
	stranger := c.leave(on[3], cfg, "stranger")
	c.settle()
	c.waits(first)
	c.want(stranger, barrier.Outside)
	second := c.leave(on[1], cfg, "h1")
	c.settle()
	c.waits(first, second)
	c.fail(c.managers()[0])
	c.waits(first, second)
	third := c.leave(on[2], cfg, "h2")
	c.pass(time.Second)
	for _, id := range []uint64{first, second, third} {
		c.want(id, barrier.Departed)
	}
	again := c.leave(on[2], cfg, "h2")
	c.settle()
	c.want(again, barrier.Departed)
}

// Nobody waits for those whose nodes are gone, nor for those who have given up to leave.
func TestDoubleWithoutTheDead(t *testing.T) {
	c := newCluster(t, 7)
	on, cfg := c.outsiders(), double(4)
	for i := range 4 {
		c.enter(on[i], cfg, fmt.Sprint("h", i))
	}
	c.settle()
	a := c.leave(on[0], cfg, "h0")
	gone := c.leave(on[1], cfg, "h1")
	c.settle()
	c.step(on[1], barrier.GiveUp{ID: gone})
	c.settle()
	if g := c.given[0]; !g.Leaves || len(g.Last.Inside) == 0 {
		t.Errorf("%+v", g)
	}
	d := c.leave(on[3], cfg, "h3")
	c.settle()
	c.waits(a, d)
	asked := 0
	c.lose = func(_, _ phalanx.NodeID, m barrier.Message) bool {
		if is[barrier.Reached](m) {
			asked++
		}
		return false
	}
	c.pass(5 * time.Second)
	if asked > 20 {
		t.Errorf("%d questions in 5 s", asked)
	}
	c.fail(on[2])
	c.pass(time.Second)
	c.want(a, barrier.Departed)
	c.want(d, barrier.Departed)
}

// One that leaves and whose first message is lost, or that gives up before it was sent, has left.
func TestDoubleGivenUpUnheard(t *testing.T) {
	c := newCluster(t, 7)
	on, cfg := c.outsiders(), double(2)
	c.enter(on[0], cfg, "h0")
	c.enter(on[1], cfg, "h1")
	c.settle()
	c.lose = func(from, _ phalanx.NodeID, m barrier.Message) bool { return from == on[0] && is[barrier.Reached](m) }
	id := c.leave(on[0], cfg, "h0")
	c.settle()
	c.step(on[0], barrier.GiveUp{ID: id})
	c.settle()
	c.lose = nil
	b := c.leave(on[1], cfg, "h1")
	c.settle()
	c.waits(b)
	c.pass(2 * time.Second)
	c.want(b, barrier.Departed)
}

// A double barrier that nobody leaves is forgotten after a while, and those who leave it then
// wait for nobody. Until then it is known who is inside.
func TestDoubleThatNobodyLeaves(t *testing.T) {
	c := newCluster(t, 7)
	on, cfg := c.outsiders(), double(2)
	c.enter(on[0], cfg, "h0")
	c.enter(on[1], cfg, "h1")
	c.settle()
	for range 9 {
		c.jump(time.Minute)
	}
	a := c.leave(on[0], cfg, "h0")
	c.pass(2 * time.Second)
	c.waits(a)
	b := c.leave(on[1], cfg, "h1")
	c.settle()
	c.want(a, barrier.Departed)
	c.want(b, barrier.Departed)

	c = newCluster(t, 7)
	c.enter(on[0], cfg, "h0")
	c.enter(on[1], cfg, "h1")
	c.settle()
	for range 11 {
		c.jump(time.Minute)
	}
	for id, core := range c.cores {
		if m := core.Memory(); m > 1000 {
			t.Errorf("%s holds %d bytes", id, m)
		}
	}
	a = c.leave(on[0], cfg, "h0")
	c.settle()
	c.want(a, barrier.Departed)
}

// Those who are late go in where the barrier lets them, and leave with the others.
func TestDoubleLate(t *testing.T) {
	c := newCluster(t, 7)
	on, cfg := c.outsiders(), double(2)
	cfg.Percent = 50
	c.enter(on[0], cfg, "h0")
	c.settle()
	a := c.leave(on[0], cfg, "h0")
	c.settle()
	c.want(a, barrier.Departed)
	late := c.enter(on[1], cfg, "h1")
	c.settle()
	c.want(late, barrier.LateFire)
	b := c.leave(on[1], cfg, "h1")
	c.settle()
	c.want(b, barrier.Departed)
}

// One whose caller has gone when it hears that it has passed leaves by itself.
func TestDoubleWithoutItsCaller(t *testing.T) {
	c := newCluster(t, 7)
	on, cfg := c.outsiders(), double(2)
	gone := c.enter(on[0], cfg, "h0")
	c.settle()
	c.lose = func(from, to phalanx.NodeID, m barrier.Message) bool { return from == on[0] || to == on[0] }
	c.step(on[0], barrier.GiveUp{ID: gone})
	c.settle()
	c.enter(on[1], cfg, "h1")
	c.pass(1500 * ms)
	if len(c.given) == 0 || c.given[0].Withdrawn {
		t.Fatalf("%+v", c.given)
	}
	b := c.leave(on[1], cfg, "h1")
	c.settle()
	c.waits(b)
	c.lose = nil
	c.pass(3 * time.Second)
	c.want(b, barrier.Departed)
}

// A late copy of an entry that has entered and left does not come in again.
func TestDoubleIsEnteredOnce(t *testing.T) {
	c := newCluster(t, 7)
	on, cfg := c.outsiders(), double(1)
	var late flying
	c.lose = func(from, to phalanx.NodeID, m barrier.Message) bool {
		if is[barrier.Reached](m) && late.m == nil {
			late = flying{from, to, m}
		}
		return false
	}
	c.enter(on[0], cfg, "h0")
	c.settle()
	a := c.leave(on[0], cfg, "h0")
	c.settle()
	c.want(a, barrier.Departed)
	c.queue = append(c.queue, late)
	c.settle()
	b := c.enter(on[1], cfg, "h1")
	c.settle()
	c.want(b, barrier.LateFire)
	d := c.leave(on[1], cfg, "h1")
	c.settle()
	c.want(d, barrier.Departed)
}

// An entry that has given up to wait for its turn does not come in by a late copy of its first
// message: nobody would know that it is inside.
func TestALateCopyDoesNotQueueAgain(t *testing.T) {
	c := newCluster(t, 7)
	on, cfg := c.outsiders(), double(2)
	cfg.Throttle = barrier.Throttle{Count: 1, Period: time.Second}
	var late []flying
	c.lose = func(from, to phalanx.NodeID, m barrier.Message) bool {
		if from == on[1] && is[barrier.Reached](m) {
			late = append(late, flying{from, to, m})
		}
		return false
	}
	a := c.enter(on[0], cfg, "h0")
	c.settle()
	b := c.enter(on[1], cfg, "h1")
	c.settle()
	c.want(a, barrier.Fire)
	c.waits(b)
	c.step(on[1], barrier.GiveUp{ID: b})
	c.settle()
	c.queue = append(c.queue, late[0])
	c.settle()
	c.pass(3 * time.Second)
	d := c.leave(on[0], cfg, "h0")
	c.settle()
	c.want(d, barrier.Departed)
}

// Those who leave a double barrier do not wait for entries in a throttle's queue that are given
// up, or whose nodes are gone.
func TestDoubleWithAThrottle(t *testing.T) {
	for _, how := range []string{"given up", "gone", "gone before it fired"} {
		c := newCluster(t, 7)
		on, cfg := c.outsiders(), double(2)
		cfg.Throttle = barrier.Throttle{Count: 1, Period: time.Second}
		if how == "gone before it fired" { // it counts
			cfg.Max = 3
		}
		a := c.enter(on[0], cfg, "h0")
		if cfg.Max == 3 {
			gone := c.enter(on[2], cfg, "h2")
			c.settle()
			c.waits(gone)
			c.fail(on[2])
		}
		b := c.enter(on[1], cfg, "h1")
		c.settle()
		c.want(a, barrier.Fire)
		d := c.leave(on[0], cfg, "h0")
		c.settle()
		c.waits(d)
		switch how {
		case "given up":
			c.step(on[1], barrier.GiveUp{ID: b})
		case "gone":
			c.fail(on[1])
		}
		c.pass(4 * time.Second)
		if cfg.Max == 3 {
			c.leave(on[1], cfg, "h1")
			c.pass(time.Second)
		}
		c.want(d, barrier.Departed)
	}
}

// One that came late to a double barrier is told that nothing is known of it any more when all
// others have gone, and their nodes: the name is as new then.
func TestTheLastOneLeaves(t *testing.T) {
	c := newCluster(t, 7)
	on, cfg := c.outsiders(), double(2)
	for _, h := range []string{"a", "b"} {
		c.enter(on[0], cfg, h)
	}
	c.settle()
	for _, h := range []string{"a", "b"} {
		c.leave(on[0], cfg, h)
	}
	c.settle()
	c.jump(11 * time.Second)
	c.jump(time.Second)
	late := c.enter(on[1], cfg, "late")
	c.settle()
	c.want(late, barrier.LateFire)
	c.fail(on[0])
	c.call(on[2], barrier.Call{Kind: barrier.CallWatch, Key: key, Config: cfg})
	c.pass(time.Second)
	id := c.leave(on[1], cfg, "late")
	c.pass(time.Second)
	c.want(id, barrier.Doubtful)
}

// A participant whose node was gone meanwhile, and who withdraws too late, is inside: the others wait
// until it leaves.
func TestDoubleWithOneThatWithdrawsTooLate(t *testing.T) {
	d := newDrive(t, double(2))
	d.enter(0, 0)
	d.enter(1, 0)
	d.apply(barrier.Op{Kind: barrier.OpGone, At: ms, Node: entering(0, 0).Node})
	op := func(kind barrier.OpKind, n int, node phalanx.NodeID) {
		d.apply(barrier.Op{Kind: kind, At: ms, Entry: host(n), Node: node, Attempt: 2})
	}
	op(barrier.OpRelease, 0, "again#2")
	op(barrier.OpLeave, 1, entering(1, 0).Node)
	wantVerdicts(t, d, host(1), barrier.Registered, barrier.Fire, barrier.Leaving)
	op(barrier.OpLeave, 0, "again#2")
	wantVerdicts(t, d, host(1), barrier.Registered, barrier.Fire, barrier.Leaving, barrier.Departed)
	wantVerdicts(t, d, host(0), barrier.Registered, barrier.Fire, barrier.Fire, barrier.Leaving, barrier.Departed)
}

// A new backup knows who is inside: when it is the only manager left, nobody leaves without them.
func TestDoubleWithANewBackupAlone(t *testing.T) {
	c := newCluster(t, 8)
	on, cfg := c.outsiders(), double(2)
	a, b := c.enter(on[0], cfg, "a"), c.enter(on[1], cfg, "b")
	c.settle()
	c.want(a, barrier.Fire)
	c.want(b, barrier.Fire)
	before := c.managers()
	c.joinAs(100)
	c.pass(time.Second)
	for _, former := range before {
		c.kill(former)
	}
	for _, former := range before {
		c.remove(former)
	}
	c.pass(time.Second)
	first := c.leave(on[0], cfg, "a")
	c.pass(time.Second)
	c.waits(first)
	second := c.leave(on[1], cfg, "b")
	c.pass(time.Second)
	c.want(first, barrier.Departed)
	c.want(second, barrier.Departed)
}
