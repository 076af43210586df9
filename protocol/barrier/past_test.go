package barrier_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/barrier"
)

// partial is a barrier that two of three are enough for.
var partial = barrier.Config{Max: 3, Percent: 60, Late: barrier.CatchUp}

// named has an entry come to a barrier of that name.
func (c *clusterOf) named(on phalanx.NodeID, name string, cfg barrier.Config, host string) uint64 {
	return c.call(on, barrier.Call{Kind: barrier.CallEnter, Key: barrier.Key{Name: name}, Config: cfg, Entry: barrier.Entry{Host: host}})
}

// outsiders are members that manage nothing of a barrier.
func (c *clusterOf) outsiders() []phalanx.NodeID {
	var all []phalanx.NodeID
	managers := c.managers()
	for _, id := range c.view.Members {
		if id != managers[0] && id != managers[1] && id != managers[2] {
			all = append(all, id)
		}
	}
	return all
}

// add has a new member join.
func (c *clusterOf) add(id phalanx.NodeID) {
	c.cores[id] = barrier.NewCore(barrier.CoreConfig{Attempts: uint64(len(c.cores)+50) << 20})
	c.view.Number++
	c.view.Members = append(append([]phalanx.NodeID(nil), c.view.Members...), id)
	for _, n := range c.view.Members {
		c.learn(n)
		c.step(n, barrier.Leased{Until: c.now + 100*time.Hour})
	}
	c.pass(100 * ms)
}

// Whoever comes long after a barrier has fired is late, however often its managers were
// replaced, one after the other, since it was forgotten.
func TestFiredIsKnownWhoeverManages(t *testing.T) {
	c := newCluster(t, 8)
	on := c.outsiders()[0]
	a, b := c.enter(on, partial, "a"), c.enter(on, partial, "b")
	c.settle()
	c.want(a, barrier.Fire)
	c.want(b, barrier.Fire)
	c.jump(11 * time.Second)
	c.jump(time.Second)
	for i := range 12 {
		victim := c.managers()[i%3]
		if victim == on {
			victim = c.managers()[(i+1)%3]
		}
		c.kill(victim)
		c.remove(victim)
		c.pass(100 * ms)
		c.add(phalanx.MakeNodeID(fmt.Sprint("new", i), uint64(100+i)))
		id := c.enter(on, partial, fmt.Sprint("late/", i))
		c.pass(200 * ms)
		c.want(id, barrier.Behind)
	}
}

// A name is as new when none of the nodes is left from which its barrier was entered, and not
// before: nobody can mean the old one.
func TestANameServesAgainWhenNobodyIsLeft(t *testing.T) {
	for _, wait := range []time.Duration{0, 12 * time.Second} { // known in full, and as fired alone
		c := newCluster(t, 8)
		from := c.outsiders()
		c.enter(from[0], partial, "a")
		c.enter(from[1], partial, "b")
		c.settle()
		c.jump(wait)
		c.jump(wait)
		c.fail(from[0])
		id := c.enter(from[2], partial, "late")
		c.pass(time.Second)
		c.want(id, barrier.Behind)
		c.fail(from[1])
		if wait == 0 { // the late one had been at the barrier
			c.fail(from[2])
		}
		first := c.enter(from[3], partial, "a")
		c.pass(2 * time.Second)
		c.waits(first)
		second := c.enter(from[4], partial, "b")
		c.pass(time.Second)
		c.want(first, barrier.Fire)
		c.want(second, barrier.Fire)
	}
}

// A primary that does not know that a barrier has fired is told by a backup that does, and
// lets nobody in.
func TestABackupKnowsThatItHasFired(t *testing.T) {
	c := newCluster(t, 6)
	on := c.outsiders()[0]
	c.enter(on, partial, "a")
	c.enter(on, partial, "b")
	c.settle()
	c.jump(11 * time.Second)
	c.jump(time.Second)
	primary := c.managers()[0]
	c.cores[primary] = barrier.NewCore(barrier.CoreConfig{}) // its actor was restarted
	c.learn(primary)
	c.step(primary, barrier.Leased{Until: c.now + time.Hour})
	id := c.enter(on, partial, "late")
	c.pass(time.Second)
	c.want(id, barrier.Behind)
}

// An entry that was registered has passed, also if it hears so only when nothing but that is
// known any more.
func TestARegisteredEntryHasPassed(t *testing.T) {
	c := newCluster(t, 6)
	on := c.outsiders()
	a := c.enter(on[0], partial, "a")
	c.settle()
	c.waits(a)
	c.lose = func(_, to phalanx.NodeID, m barrier.Message) bool { return to == on[0] && is[barrier.Answers](m) }
	b := c.enter(on[1], partial, "b")
	c.settle()
	c.want(b, barrier.Fire)
	c.jump(11 * time.Second)
	c.jump(time.Second)
	c.lose = nil
	c.pass(3 * time.Second)
	c.want(a, barrier.Fire)
}

// What is known of barriers that are over takes next to no memory, whatever became of them, and
// it is known of those alone that have fired with somebody left to mean them.
func TestMemoryOfWhatIsOver(t *testing.T) {
	n := 5000
	if testing.Short() {
		n = 1000
	}
	semaphore := barrier.Config{Semaphore: barrier.Semaphore{Count: 1}}
	enter := func(cfg barrier.Config, hosts int) func(c *clusterOf, on []phalanx.NodeID, i int) {
		return func(c *clusterOf, on []phalanx.NodeID, i int) {
			for h := range hosts {
				c.named(on[h%len(on)], fmt.Sprint("many/", i), cfg, fmt.Sprint("h", h))
			}
		}
	}
	for what, do := range map[string]func(c *clusterOf, on []phalanx.NodeID, i int){
		"fired with all":  enter(barrier.Config{Max: 3}, 3),
		"fired with some": enter(partial, 2),
		"released": func(c *clusterOf, on []phalanx.NodeID, i int) {
			key, e := barrier.Key{Name: fmt.Sprint("many/", i)}, barrier.Entry{Host: "h"}
			c.call(on[0], barrier.Call{Kind: barrier.CallEnter, Key: key, Config: semaphore, Entry: e})
			c.settle()
			c.call(on[0], barrier.Call{Kind: barrier.CallRelease, Key: key, Config: semaphore, Entry: e})
		},
		"given up": func(c *clusterOf, on []phalanx.NodeID, i int) {
			id := c.named(on[0], fmt.Sprint("many/", i), partial, "h")
			c.settle()
			c.step(on[0], barrier.GiveUp{ID: id})
		},
		"asked for": func(c *clusterOf, on []phalanx.NodeID, i int) {
			c.call(on[0], barrier.Call{Kind: barrier.CallHosts, Key: barrier.Key{Name: fmt.Sprint("many/", i)}})
		},
	} {
		c := newCluster(t, 3)
		for i := range n {
			do(c, c.view.Members, i)
			c.settle()
		}
		c.jump(11 * time.Second)
		c.jump(time.Second)
		for id, core := range c.cores {
			if m := core.Memory(); m > 40*n {
				t.Errorf("%s: %s takes %d bytes for %d barriers", what, id, m, n)
			}
		}
		c.jump(10 * time.Minute)
		c.jump(10*time.Minute + time.Second)
		for id, core := range c.cores {
			if m := core.Memory(); m != 0 {
				t.Errorf("%s: %s takes %d bytes when all is forgotten", what, id, m)
			}
			if at, ok := core.Due(); ok {
				t.Errorf("%s: %s wants to be ticked at %v", what, id, at)
			}
		}
	}
}

// A Watch of a barrier of which only that is known that it has fired ends, also at the primary
// itself: there is nothing more to be told of it.
func TestAWatchOfWhatHasFired(t *testing.T) {
	cfg := asks
	cfg.Late = barrier.CatchUp
	c := newCluster(t, 5)
	on := c.outsiders()[0]
	for i := range cfg.Max {
		c.enter(on, cfg, fmt.Sprint("h", i))
	}
	c.pass(30 * time.Second)
	for _, at := range []phalanx.NodeID{on, c.managers()[0]} {
		id := c.call(at, barrier.Call{Kind: barrier.CallWatch, Key: key, Config: cfg})
		c.settle()
		if d, ok := c.done[id]; !ok || d.Verdict != barrier.Registered {
			t.Errorf("%+v, %v", d, ok)
		}
		c.call(at, barrier.Call{Kind: barrier.CallUnwatch, Key: key, Config: cfg})
		c.pass(time.Second)
	}
}

// A barrier that has fired, and whose managers are others before it is forgotten, is known as fired
// to these also if they have nothing to do until the ones before them are gone.
func TestFiredIsKnownToManagersThatHadNothingToDo(t *testing.T) {
	c := newCluster(t, 5)
	on := c.outsiders()[0]
	c.enter(on, partial, "a")
	c.enter(on, partial, "b")
	c.settle()
	old := c.managers()
	for i := 0; ; i++ { // others join, until none of the managers is one any more
		left := false
		for _, m := range c.managers() {
			for _, o := range old {
				left = left || m == o
			}
		}
		if !left {
			break
		}
		c.add(phalanx.MakeNodeID(fmt.Sprint("new", i), uint64(100+i)))
	}
	c.jump(21 * time.Second)
	c.jump(time.Second)
	for _, m := range old {
		if m != on {
			c.kill(m)
			c.remove(m)
			c.pass(100 * ms)
		}
	}
	id := c.enter(on, partial, "late")
	c.pass(time.Second)
	c.want(id, barrier.Behind)
}
