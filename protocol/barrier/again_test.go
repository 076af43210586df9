package barrier_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/barrier"
)

// An entry moves from one node to another one whose attempts are smaller: it is let
// in there, and the node that it left does not hold the semaphore any more.
func TestAnEntryThatMoves(t *testing.T) {
	c := newCluster(t, 4)
	cfg := barrier.Config{Semaphore: barrier.Semaphore{Count: 1}}
	last, first := c.view.Members[3], c.view.Members[0] // attempts of the first are the smallest
	a := c.enter(last, cfg, "shard")
	c.settle()
	c.want(a, barrier.Fire)
	b := c.enter(first, cfg, "shard")
	c.pass(time.Second)
	c.want(b, barrier.Fire)
	if !slices.ContainsFunc(c.said[last], func(o barrier.Output) bool { _, lost := o.(barrier.Lost); return lost }) {
		t.Error("the first node has not lost it")
	}
	other := c.enter(last, cfg, "other")
	c.settle()
	c.waits(other)
	c.call(first, barrier.Call{Kind: barrier.CallRelease, Key: key, Config: cfg, Entry: barrier.Entry{Host: "shard"}})
	c.settle()
	c.want(other, barrier.Fire)
}

// A node that waits for its turn at a throttle is removed and comes back: it has its
// turn.
func TestAThrottleAndANodeThatComesBack(t *testing.T) {
	d := newDrive(t, barrier.Config{Max: 3, Throttle: barrier.Throttle{Count: 1, Period: 100 * ms}})
	for i := range 3 {
		d.enter(i, 0)
	}
	d.apply(barrier.Op{Kind: barrier.OpGone, At: ms, Node: "nh002"})
	back := entering(2, 2*ms)
	back.Node = "again#2"
	d.apply(back)
	d.until(time.Second)
	wantVerdicts(t, d, host(2), barrier.Registered, barrier.Registered, barrier.Fire)
}

// Who comes to a generation that is forgotten is late, and makes no new barrier.
func TestAForgottenGeneration(t *testing.T) {
	c := newCluster(t, 3)
	on := c.bystander()
	for _, late := range []barrier.LateMode{barrier.PassThrough, barrier.CatchUp} {
		cfg := barrier.Config{Max: 1, Late: late}
		enter := func(g uint64, host string) uint64 {
			id := c.call(on, barrier.Call{Kind: barrier.CallEnter, Key: barrier.Key{Name: late.String(), Generation: g}, Config: cfg, Entry: barrier.Entry{Host: host}})
			c.settle()
			return id
		}
		for g := range uint64(4) {
			c.want(enter(g, "a"), barrier.Fire)
		}
		want := barrier.LateFire
		if late == barrier.CatchUp {
			want = barrier.Behind
		}
		c.want(enter(1, "b"), want)
	}
}

// The only manager's actor is made anew and knows nothing: those who wait enter again
// by themselves.
func TestAManagerThatHasForgotten(t *testing.T) {
	c := newCluster(t, 1)
	c.view.Members = append(c.view.Members, "other#9")
	c.cores["other#9"] = barrier.NewCore(barrier.CoreConfig{Managers: 1, Attempts: 1 << 30})
	c.cores[c.view.Members[0]] = barrier.NewCore(barrier.CoreConfig{Managers: 1})
	both := c.view.Members
	begin := func(id phalanx.NodeID) {
		c.learn(id)
		c.step(id, barrier.Leased{Until: time.Hour})
	}
	c.view.Number++
	for _, id := range both {
		begin(id)
	}
	primary := c.managers()[0]
	on := both[0]
	if on == primary {
		on = both[1]
	}
	cfg := barrier.Config{Max: 2}
	a := c.enter(on, cfg, "a")
	c.settle()
	c.waits(a)
	c.cores[primary] = barrier.NewCore(barrier.CoreConfig{Managers: 1, Attempts: 1 << 40})
	begin(primary)
	c.pass(3 * time.Second)
	b := c.enter(primary, cfg, "b")
	c.pass(time.Second)
	c.want(a, barrier.Doubtful) // it may have fired
	c.want(b, barrier.Doubtful)
}

// The primary dies while a callback is asked: the new one asks it again, and what it
// says counts.
func TestACallbackKeepsItsVeto(t *testing.T) {
	c := newCluster(t, 5)
	cfg := barrier.Config{Max: 2, Callback: true, CallbackTimeout: 300 * ms}
	primary, on := c.managers()[0], c.bystander()
	c.call(on, barrier.Call{Kind: barrier.CallWatch, Key: key, Config: cfg})
	c.settle()
	answer := func() { // vetoes all that is asked
		for _, o := range c.said[on] {
			if q, ok := o.(barrier.Callback); ok {
				c.step(on, barrier.Replied{Key: q.Key, Ask: q.Asked.Ask})
			}
		}
		c.said[on] = nil
		c.settle()
	}
	c.lose = func(from, _ phalanx.NodeID, m barrier.Message) bool {
		return from == primary && is[barrier.Question](m)
	}
	a, b := c.enter(on, cfg, "a"), c.enter(on, cfg, "b")
	c.settle()
	c.pass(200 * ms)
	c.kill(primary)
	c.lose = nil
	c.pass(200 * ms) // in which nobody could ask
	c.remove(primary)
	c.settle()
	for range 20 {
		answer()
		c.pass(100 * ms)
	}
	c.waits(a, b)
}

// What members know goes in parts when it is much.
func TestMuchIsGatheredInParts(t *testing.T) {
	c := newCluster(t, 3)
	on := c.view.Members[0]
	parts := 0
	c.lose = func(_, _ phalanx.NodeID, m barrier.Message) bool {
		if g, ok := m.(barrier.Gathered); ok {
			parts = max(parts, g.Part+1)
		}
		return false
	}
	cfg := barrier.Config{Max: 3001}
	for b := range 12 {
		for h := range 3000 {
			c.call(on, barrier.Call{Kind: barrier.CallEnter, Key: barrier.Key{Name: fmt.Sprint("b/", b)}, Config: cfg, Entry: barrier.Entry{Host: fmt.Sprint("h", h)}})
		}
	}
	c.settle()
	gone := c.view.Members[2]
	c.kill(gone)
	c.remove(gone)
	c.pass(time.Second)
	if parts < 2 {
		t.Errorf("%d parts", parts)
	}
	for b := range 12 {
		last := c.call(on, barrier.Call{Kind: barrier.CallEnter, Key: barrier.Key{Name: fmt.Sprint("b/", b)}, Config: cfg, Entry: barrier.Entry{Host: "last"}})
		c.settle()
		c.want(last, barrier.Fire)
	}
}

// Those that have left a semaphore long ago are not remembered.
func TestASemaphoreForgetsThoseThatHaveLeft(t *testing.T) {
	d := newDrive(t, barrier.Config{Semaphore: barrier.Semaphore{Count: 1}})
	for i := range 2000 {
		at := time.Duration(i) * 100 * ms
		d.apply(entering(i%900, at))
		release := leaving(i%900, 1, at+ms)
		d.apply(release)
	}
	if n := len(d.Entrances); n > 750 {
		t.Errorf("%d are remembered", n)
	}
}

// firedWithAPast has a barrier of one fire whose primary keeps a record, and returns how the primary's
// actor begins anew.
func (c *clusterOf) firedWithAPast() (begin func()) {
	var past barrier.Past
	p, attempts := c.managers()[0], uint64(1<<40)
	begin = func() {
		attempts <<= 1
		c.cores[p] = barrier.NewCore(barrier.CoreConfig{Past: &past, Attempts: attempts})
		c.learn(p)
		c.step(p, barrier.Leased{Until: c.now + time.Hour})
	}
	begin()
	a := c.enter(c.outsiders()[0], barrier.Config{Max: 1}, "a")
	c.settle()
	c.want(a, barrier.Fire)
	return begin
}

// A primary whose actor begins anew gathers what it had although nobody asks: the other managers, from
// which it has that, may be gone before somebody does.
func TestAPrimaryThatIsStartedAgainGathers(t *testing.T) {
	c := newCluster(t, 8)
	on, cfg, begin := c.outsiders(), barrier.Config{Max: 1}, c.firedWithAPast()
	c.pass(10 * ms)
	begin()
	c.pass(100 * ms)
	for _, other := range c.managers()[1:] {
		c.fail(other)
	}
	late := c.enter(on[1], cfg, "b")
	c.pass(time.Second)
	c.want(late, barrier.LateFire)
}

// So does one that joins.
func TestAPrimaryThatJoinsGathers(t *testing.T) {
	c := newCluster(t, 8)
	on, cfg := c.outsiders(), barrier.Config{Max: 1}
	a := c.enter(on[0], cfg, "a")
	c.settle()
	c.want(a, barrier.Fire)
	before := c.managers()
	c.joinAsPrimary()
	c.pass(100 * ms)
	for _, former := range before {
		c.fail(former)
	}
	late := c.enter(on[1], cfg, "b")
	c.pass(time.Second)
	c.want(late, barrier.LateFire)
}

// A primary whose actor begins anew as it forgets a barrier that has fired knows so: its backups have
// forgotten the barrier before.
func TestAPrimaryThatIsStartedAgainAsItForgets(t *testing.T) {
	c := newCluster(t, 8)
	on, begin := c.outsiders(), c.firedWithAPast()
	p := c.managers()[0]
	c.lose = func(_, to phalanx.NodeID, m barrier.Message) bool { return to == p && is[barrier.Confirm](m) }
	c.pass(11 * time.Second)
	c.lose = nil
	begin()
	c.pass(100 * ms)
	late := c.join(on[1])
	c.pass(time.Second)
	if d := c.done[late]; d.Outcome != barrier.Forgotten {
		t.Errorf("who joins is told %+v", d)
	}
}
