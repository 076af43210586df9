package barrier_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/barrier"
)

// join asks for the barrier's Config.
func (c *clusterOf) join(on phalanx.NodeID) uint64 {
	return c.call(on, barrier.Call{Kind: barrier.CallConfig, Key: key})
}

// gives checks that a call has ended with a Config.
func (c *clusterOf) gives(id uint64, cfg barrier.Config) {
	c.t.Helper()
	d, ok := c.done[id]
	if _, same := d.Config.Equal(cfg); !ok || !same {
		c.t.Fatalf("call %d: %+v, %v; want %+v", id, d, ok, cfg)
	}
}

// Those who wait for a Config are told at once when somebody enters with it, whichever nodes
// they and it are on.
func TestJoinersAreToldAtOnce(t *testing.T) {
	for _, opener := range []int{0, 1, 4} { // the primary, a backup, a bystander
		c := newCluster(t, 6)
		cfg := barrier.Config{Max: 9, Late: barrier.CatchUp}
		var ids []uint64
		for _, n := range c.view.Members {
			ids = append(ids, c.join(n), c.join(n))
		}
		c.settle()
		c.pass(100 * ms)
		c.waits(ids...)
		order := append(c.managers(), slices.DeleteFunc(slices.Clone(c.view.Members), func(n phalanx.NodeID) bool { return slices.Contains(c.managers(), n) })...)
		c.enter(order[opener], cfg, "a")
		c.settle()
		for _, id := range ids {
			c.gives(id, cfg)
		}
		late := c.join(order[4])
		c.settle()
		c.gives(late, cfg)
	}
}

// One question is asked for all calls of a node, and it is hardly repeated while nobody has
// given a Config.
func TestJoinersOfANodeAskTogether(t *testing.T) {
	c := newCluster(t, 4)
	sent := 0
	c.lose = func(_, _ phalanx.NodeID, m barrier.Message) bool {
		if is[barrier.WhoOpened](m) || is[barrier.Opened](m) {
			sent++
		}
		return false
	}
	on := c.bystander()
	var ids []uint64
	for range 1000 {
		ids = append(ids, c.join(on))
	}
	c.settle()
	if sent != 2 {
		t.Errorf("%d messages, want a question and an answer", sent)
	}
	c.pass(10 * time.Second)
	if sent > 2+2*10 {
		t.Errorf("%d messages in 10 s", sent)
	}
	cfg := barrier.Config{Max: 2}
	c.enter(c.managers()[0], cfg, "a")
	c.settle()
	for _, id := range ids {
		c.gives(id, cfg)
	}
}

// What is lost is asked again, and what is doubled counts once.
func TestJoinersWhereMessagesAreLostAndDoubled(t *testing.T) {
	c := newCluster(t, 5)
	r := rand.New(rand.NewPCG(1, 1))
	c.lose = func(from, to phalanx.NodeID, m barrier.Message) bool {
		if r.IntN(3) == 0 {
			c.queue = append(c.queue, flying{from, to, m})
		}
		return r.IntN(3) > 0
	}
	var ids []uint64
	for _, n := range c.view.Members {
		ids = append(ids, c.join(n))
	}
	c.pass(2 * time.Second)
	c.waits(ids...)
	cfg := barrier.Config{Max: 2}
	c.enter(c.bystander(), cfg, "a")
	c.pass(20 * time.Second)
	for _, id := range ids {
		c.gives(id, cfg)
	}
}

// The message that tells of a Config is lost: the node learns it within a second.
func TestAJoinerThatIsNotTold(t *testing.T) {
	c := newCluster(t, 4)
	id := c.join(c.bystander())
	c.settle()
	c.lose = func(_, _ phalanx.NodeID, m barrier.Message) bool { return is[barrier.Opened](m) }
	cfg := barrier.Config{Max: 2}
	c.enter(c.managers()[1], cfg, "a")
	c.settle()
	c.waits(id)
	c.lose = nil
	c.pass(1001 * ms)
	c.gives(id, cfg)
}

// An answer to an earlier question says nothing: the barrier may be another one since.
func TestALateAnswerToAJoiner(t *testing.T) {
	c := newCluster(t, 4)
	var late []flying
	c.lose = func(from, to phalanx.NodeID, m barrier.Message) bool {
		if is[barrier.Opened](m) {
			late = append(late, flying{from, to, m})
		}
		return false
	}
	on := c.bystander()
	old, other := barrier.Config{Max: 2}, barrier.Config{Max: 3}
	a := c.enter(on, old, "a")
	first := c.join(on)
	c.settle()
	c.gives(first, old)
	c.step(on, barrier.GiveUp{ID: a})
	c.settle()
	c.lose = nil
	c.now += ms
	second := c.join(on)
	for _, f := range late {
		c.step(f.to, barrier.Heard{From: f.from, Message: f.m})
	}
	c.settle()
	c.waits(second) // all have withdrawn, and nobody has given another Config
	c.enter(c.managers()[1], other, "b")
	c.settle()
	c.gives(second, other)
}

// The primary dies while others wait for a Config: the next one tells them.
func TestThePrimaryDiesWhileJoinersWait(t *testing.T) {
	for _, opened := range []bool{false, true} { // when it dies, and nobody was told
		c := newCluster(t, 6)
		primary, on := c.managers()[0], c.bystander()
		ids := []uint64{c.join(on), c.join(c.managers()[1])}
		c.settle()
		cfg := barrier.Config{Max: 3}
		if opened {
			c.lose = func(_, _ phalanx.NodeID, m barrier.Message) bool { return is[barrier.Opened](m) }
			c.enter(on, cfg, "a")
			c.settle()
			c.lose = nil
		}
		c.waits(ids...)
		c.kill(primary)
		c.remove(primary)
		c.settle()
		if !opened {
			c.waits(ids...)
			c.enter(on, cfg, "a")
			c.settle()
		}
		for _, id := range ids {
			c.gives(id, cfg)
		}
	}
}

// One that joins what has fired is late by the barrier's rules; also when its entries are
// forgotten, and when its whole generation is.
func TestAJoinerOfWhatHasFired(t *testing.T) {
	const generations = 4
	c := newCluster(t, 4)
	on := c.bystander()
	cfg := barrier.Config{Max: 1, Late: barrier.CatchUp}
	call := func(kind barrier.CallKind, g uint64, host string, cfg barrier.Config) uint64 {
		id := c.call(on, barrier.Call{Kind: kind, Key: barrier.Key{Name: key.Name, Generation: g}, Config: cfg, Entry: barrier.Entry{Host: host}})
		c.settle()
		return id
	}
	for g := range uint64(generations) {
		c.want(call(barrier.CallEnter, g, "a", cfg), barrier.Fire)
	}
	for g := range uint64(generations) {
		id := call(barrier.CallConfig, g, "", barrier.Config{})
		if g+2 < generations { // only that is known of it
			if d := c.done[id]; d.Outcome != barrier.Forgotten || d.Verdict != barrier.Behind {
				t.Errorf("%+v", d)
			}
			continue
		}
		c.gives(id, cfg)
		c.want(call(barrier.CallEnter, g, "b", c.done[id].Config), barrier.Behind)
	}
	c.waits(call(barrier.CallConfig, generations, "", barrier.Config{}))
}

// One that joins a barrier of which only that is known that it has fired is late.
func TestAJoinerOfAForgottenBarrier(t *testing.T) {
	for late, verdict := range map[barrier.LateMode]barrier.Verdict{barrier.PassThrough: barrier.LateFire, barrier.CatchUp: barrier.Behind} {
		c := newCluster(t, 3)
		on := c.bystander()
		c.enter(on, barrier.Config{Max: 1, Late: late}, "a")
		c.pass(11 * time.Second)
		id := c.join(on)
		c.settle()
		if d := c.done[id]; d.Outcome != barrier.Forgotten || d.Verdict != verdict {
			t.Errorf("%+v", d)
		}
	}
}

// What gives a barrier its Config besides an entry that waits.
func TestWhatAJoinerFinds(t *testing.T) {
	cfg := barrier.Config{Max: 3}
	slots := barrier.Config{Semaphore: barrier.Semaphore{Count: 1}}
	for name, x := range map[string]struct {
		cfg  barrier.Config
		open func(*clusterOf, phalanx.NodeID)
	}{
		"a semaphore that nobody holds": {slots, func(c *clusterOf, on phalanx.NodeID) {
			c.want2(c.enter(on, slots, "a"))
			c.call(on, barrier.Call{Kind: barrier.CallRelease, Key: key, Config: slots, Entry: barrier.Entry{Host: "a"}})
			c.settle()
		}},
		"callbacks": {asks, func(c *clusterOf, on phalanx.NodeID) { c.watch(on); c.settle() }},
		"callbacks since long": {asks, func(c *clusterOf, on phalanx.NodeID) {
			c.watch(on)
			c.pass(time.Minute)
		}},
		"one whose node has died": {cfg, func(c *clusterOf, on phalanx.NodeID) {
			dead := slices.DeleteFunc(slices.Clone(c.view.Members), func(n phalanx.NodeID) bool { return n == on || slices.Contains(c.managers(), n) })[0]
			c.enter(dead, cfg, "a")
			c.settle()
			c.kill(dead)
			c.remove(dead)
			c.settle()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 6)
			on := c.bystander()
			x.open(c, on)
			id := c.join(on)
			c.settle()
			c.gives(id, x.cfg)
		})
	}
}

// Callbacks that were there before anybody entered are asked, however late one does.
func TestCallbacksOfABarrierThatIsEnteredLate(t *testing.T) {
	c := newCluster(t, 4)
	on := c.bystander()
	c.watch(on)
	c.pass(time.Minute)
	c.enter(c.managers()[1], asks, "a")
	c.settle()
	if n := c.asked(on); n != 1 {
		t.Errorf("%d questions", n)
	}
}

// All have withdrawn: those who come next may give another Config, and those who join wait for
// it.
func TestAJoinerOfWhatAllHaveWithdrawnFrom(t *testing.T) {
	c := newCluster(t, 4)
	on := c.bystander()
	a := c.enter(on, barrier.Config{Max: 2}, "a")
	c.settle()
	c.step(on, barrier.GiveUp{ID: a})
	c.settle()
	id := c.join(on)
	c.settle()
	c.waits(id)
	other := barrier.Config{Max: 4}
	c.enter(c.managers()[1], other, "b")
	c.settle()
	c.gives(id, other)
}

// One that gives up is told whether the primary had answered, and has not entered.
func TestAJoinerThatGivesUp(t *testing.T) {
	for _, silent := range []bool{false, true} {
		c := newCluster(t, 4)
		if silent {
			c.lose = func(_, _ phalanx.NodeID, m barrier.Message) bool { return is[barrier.Opened](m) }
		}
		on := c.bystander()
		id, other := c.join(on), c.join(on)
		c.settle()
		if !c.cores[on].Waits(id) {
			t.Error("it does not wait")
		}
		c.step(on, barrier.GiveUp{ID: id})
		c.step(on, barrier.GiveUp{ID: id})
		want := barrier.GivenUp{ID: id, Primary: c.managers()[0], Heard: !silent, Unopened: true, Withdrawn: true}
		if len(c.given) != 1 || fmt.Sprint(c.given[0]) != fmt.Sprint(want) || c.cores[on].Waits(id) {
			t.Errorf("%+v, want %+v", c.given, want)
		}
		c.lose = nil
		cfg := barrier.Config{Max: 2}
		c.enter(c.managers()[1], cfg, "a")
		c.pass(time.Second)
		c.waits(id)
		c.gives(other, cfg)
	}
}

// A caller whose Config was refused does not ask again and again.
func TestAJoinerWhoseConfigWasRefused(t *testing.T) {
	c := newCluster(t, 4)
	on := c.bystander()
	sent := 0
	c.lose = func(_, _ phalanx.NodeID, m barrier.Message) bool {
		if is[barrier.WhoOpened](m) {
			sent++
		}
		return false
	}
	cfg := barrier.Config{Max: 2}
	c.enter(on, cfg, "a")
	c.settle()
	began := c.now
	for c.now < began+time.Second {
		id := c.call(on, barrier.Call{Kind: barrier.CallConfig, Key: key, Config: barrier.Config{Max: 3}})
		for c.done[id].ID == 0 {
			c.pass(ms)
		}
		c.gives(id, cfg)
	}
	if sent < 2 || sent > 20 {
		t.Errorf("%d questions in a second", sent)
	}
}

// Nothing stays of those who wait for names that nobody opens and give up, neither at their
// node nor at the primaries.
func TestNothingStaysOfThoseWhoGiveUpJoining(t *testing.T) {
	const names = 10_000
	c := newCluster(t, 3)
	on := c.bystander()
	sent := 0
	c.lose = func(phalanx.NodeID, phalanx.NodeID, barrier.Message) bool { sent++; return false }
	count := func() (calls, barriers, askers int) {
		for _, core := range c.cores {
			a, b, n := core.Joining()
			calls, barriers, askers = calls+a, barriers+b, askers+n
		}
		return calls, barriers, askers
	}
	var ids []uint64
	for i := range names {
		ids = append(ids, c.call(on, barrier.Call{Kind: barrier.CallConfig, Key: barrier.Key{Name: fmt.Sprint("never/", i)}}))
	}
	c.pass(time.Second) // what came while the primaries gathered is asked again
	if calls, barriers, askers := count(); calls != names || barriers != 2*names || askers != names {
		t.Errorf("%d calls of %d barriers, of which %d are known to primaries", calls, barriers/2, askers)
	}
	sent = 0
	c.pass(10 * time.Second)
	if sent > 2*names {
		t.Errorf("%d messages in 10 s", sent)
	}
	for _, id := range ids {
		c.step(on, barrier.GiveUp{ID: id})
	}
	if len(c.given) != names {
		t.Errorf("%d have been told that they gave up", len(c.given))
	}
	c.pass(time.Minute + ms)
	if calls, barriers, askers := count(); calls+barriers+askers > 0 {
		t.Errorf("%d calls, %d barriers and %d askers stay", calls, barriers, askers)
	}
	for id, core := range c.cores {
		if at, ok := core.Due(); ok {
			t.Errorf("%s has something to do at %v", id, at)
		}
	}
}

// A primary remembers a bounded number of those who wait. The others learn the Config when
// they ask again.
func TestAPrimaryRemembersSomeOfThoseWhoJoin(t *testing.T) {
	const most = 1 << 16
	c := newCluster(t, 2)
	primary, other := c.managers()[0], c.managers()[1]
	c.enter(other, barrier.Config{Max: 1}, "a")
	c.settle() // the primary has gathered
	remembered := func() int { _, _, n := c.cores[primary].Joining(); return n }
	for i := range 3 * most {
		k := barrier.Key{Name: fmt.Sprint("never/", i)}
		if barrier.ManagersOf(c.view, k.Name)[0] == primary {
			c.step(primary, barrier.Heard{From: other, Message: barrier.WhoOpened{Key: k, Stamp: 1}})
		}
		c.queue = nil
	}
	next := barrier.Key{Name: key.Name, Generation: 1}
	id := c.call(other, barrier.Call{Kind: barrier.CallConfig, Key: next})
	c.settle()
	if n := remembered(); n != most {
		t.Errorf("%d are remembered", n)
	}
	cfg := barrier.Config{Max: 2}
	c.call(primary, barrier.Call{Kind: barrier.CallEnter, Key: next, Config: cfg, Entry: barrier.Entry{Host: "a"}})
	c.settle()
	c.waits(id)
	c.pass(1001 * ms)
	c.gives(id, cfg)
}
func (c *clusterOf) want2(id uint64) {
	c.t.Helper()
	c.settle()
	c.want(id, barrier.Fire)
}
