package barrier_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/barrier"
)

// jump lets much time pass at once.
func (c *clusterOf) jump(d time.Duration) {
	c.now += d
	for range 3 {
		for _, id := range slices.Sorted(maps.Keys(c.cores)) {
			c.step(id, barrier.Leased{Until: c.now + time.Hour})
			c.step(id, barrier.Tick{})
		}
		c.settle()
	}
}

func (c *clusterOf) fail(id phalanx.NodeID) {
	c.kill(id)
	c.remove(id)
	c.pass(time.Second)
}

// Whoever comes to a generation that is over and forgotten is late, whoever is the primary.
func TestAForgottenGenerationIsKnownAfterAFailover(t *testing.T) {
	c := newCluster(t, 6)
	on := c.bystander()
	cfg := barrier.Config{Max: 2}
	enter := func(g uint64, host string) uint64 {
		id := c.call(on, barrier.Call{Kind: barrier.CallEnter, Key: barrier.Key{Name: key.Name, Generation: g}, Config: cfg, Entry: barrier.Entry{Host: host}})
		c.settle()
		return id
	}
	for g := range uint64(6) {
		enter(g, "x")
		enter(g, "y")
	}
	c.want(enter(1, "before"), barrier.LateFire)
	for i := range 2 {
		c.fail(c.managers()[0])
		id := enter(1, fmt.Sprint("after/", i))
		c.pass(time.Second)
		c.want(id, barrier.LateFire)
	}
}

// Many barriers fire, and their entries are forgotten for others: a straggler is told that it
// is late all the same, also by a later primary, and hosts are not known any more.
func TestAStragglerIsLateAfterManyBarriers(t *testing.T) {
	c := newCluster(t, 4)
	for i, id := range c.view.Members {
		c.cores[id] = barrier.NewCore(barrier.CoreConfig{Attempts: uint64(i) << 20})
		c.learn(id)
		c.step(id, barrier.Leased{Until: 2 * time.Hour})
	}
	on := c.bystander()
	cfg := barrier.Config{Max: 10, Percent: 90, Late: barrier.CatchUp}
	enter := func(i int, host string) uint64 {
		k := key
		if i > 0 {
			k.Name = fmt.Sprint("step/", i)
		}
		return c.call(on, barrier.Call{Kind: barrier.CallEnter, Key: k, Config: cfg, Entry: barrier.Entry{Host: host}})
	}
	for i := range 80 {
		for h := range 9 {
			enter(i, fmt.Sprint("h", h))
		}
		c.settle()
		c.jump(400 * ms)
	}
	id := enter(0, "straggler")
	c.settle()
	c.want(id, barrier.Behind)
	c.fail(c.managers()[0])
	id = enter(0, "another one")
	c.pass(time.Second)
	c.want(id, barrier.Behind)
	c.jump(21 * time.Minute)
	id = enter(0, "after all")
	c.settle()
	c.waits(id)
}

// A barrier is open for half an hour: its backups know who has entered it, and the next
// primary does, when the nodes of both have died.
func TestBackupsRememberWhatIsOpenForLong(t *testing.T) {
	c := newCluster(t, 6)
	cfg := barrier.Config{Max: 2}
	on, primary := c.bystander(), c.managers()[0]
	a := c.enter(on, cfg, "a")
	c.settle()
	for range 31 {
		c.jump(time.Minute)
	}
	c.waits(a)
	c.kill(on)
	c.kill(primary)
	c.remove(on)
	c.remove(primary)
	c.pass(time.Second)
	b := c.enter(c.bystander(), cfg, "b")
	c.pass(time.Second)
	c.want(b, barrier.Fire)
}

// What a member that manages a barrier no more has of it is forgotten, if nobody says so.
func TestWhatNobodyNeedsIsForgotten(t *testing.T) {
	c := newCluster(t, 6)
	cfg := barrier.Config{Max: 2}
	c.enter(c.bystander(), cfg, "a")
	c.settle()
	old := c.managers()
	c.lose = func(_, _ phalanx.NodeID, m barrier.Message) bool { return is[barrier.Forget](m) }
	for i := 0; slices.Contains(c.managers(), old[2]); i++ { // others join, until one of the managers is none any more
		id := phalanx.MakeNodeID(fmt.Sprint("new", i), 100)
		c.cores[id] = barrier.NewCore(barrier.CoreConfig{Attempts: uint64(i+10) << 20})
		c.view.Members = append(slices.Clone(c.view.Members), id)
		c.view.Number++
		for _, m := range c.view.Members {
			c.learn(m)
			c.step(m, barrier.Leased{Until: c.now + time.Hour})
		}
		c.pass(time.Second)
	}
	for range 31 {
		c.jump(time.Minute)
	}
	gathered := 0
	c.lose = func(from, _ phalanx.NodeID, m barrier.Message) bool {
		if g, ok := m.(barrier.Gathered); ok && from == old[2] {
			gathered += len(g.Replicas)
		}
		return false
	}
	c.fail(c.managers()[0])
	if gathered > 0 {
		t.Errorf("%s still has %d replicas", old[2], gathered)
	}
}

// 10,000 come late to a barrier that is over and whose entries were forgotten: nothing of them stays.
func TestLateEntriesOfAClosedBarrier(t *testing.T) {
	c := newCluster(t, 4)
	for i, id := range c.view.Members {
		c.cores[id] = barrier.NewCore(barrier.CoreConfig{Attempts: uint64(i) << 20})
		c.learn(id)
		c.step(id, barrier.Leased{Until: 2 * time.Hour})
	}
	on := c.bystander()
	for i := range 20 {
		c.enter(on, barrier.Config{Max: 20}, fmt.Sprint("e", i))
	}
	c.settle()
	c.jump(11 * time.Second)
	c.jump(time.Second)
	for i := range 10_000 {
		id := c.enter(on, barrier.Config{Max: 20}, fmt.Sprint("late", i))
		c.settle()
		c.want(id, barrier.LateFire)
	}
	c.jump(11 * time.Second)
	c.jump(time.Second)
	weight := 0
	c.lose = func(from, to phalanx.NodeID, m barrier.Message) bool {
		if g, ok := m.(barrier.Gathered); ok {
			for _, h := range g.Replicas {
				weight = max(weight, h.Total)
			}
		}
		return false
	}
	c.fail(c.managers()[0])
	if weight > 100 {
		t.Errorf("a closed barrier has %d entries", weight)
	}
}

// An answer of a build that knows no parts is taken, and stops nobody.
func TestAnAnswerWithoutParts(t *testing.T) {
	c := newCluster(t, 3)
	on := c.bystander()
	c.lose = func(_, _ phalanx.NodeID, m barrier.Message) bool { return is[barrier.WhoPassed](m) }
	id := c.call(on, barrier.Call{Kind: barrier.CallHosts, Key: key})
	c.step(on, barrier.Heard{From: c.managers()[0], Message: barrier.Passed{Key: key, ID: id, Term: 1, Known: true, Hosts: map[string][]string{"a": {"x"}}}})
	if d := c.done[id]; len(d.Hosts) != 1 {
		t.Errorf("%+v", d)
	}
}
