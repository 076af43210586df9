package barrier_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/barrier"
)

// Nobody is told of a Config that nobody has given while a barrier is removed of which only that
// is known that it has fired.
func TestNobodyGoesByTheConfigOfARemoval(t *testing.T) {
	for _, joins := range []bool{true, false} {
		c := newCluster(t, 6)
		on := c.outsiders()
		c.enter(on[0], partial, "a")
		c.enter(on[0], partial, "b")
		c.settle()
		c.jump(12 * time.Second)
		c.jump(time.Second)
		c.lose = func(_, _ phalanx.NodeID, m barrier.Message) bool { return is[barrier.Replicate](m) }
		c.removeBarrier(on[1])
		c.settle()
		var id uint64
		if joins {
			id = c.join(on[2])
		} else {
			id = c.enter(on[2], partial, "c")
		}
		c.settle()
		c.lose = nil
		c.pass(2 * time.Second)
		c.waits(id)
	}
}

// A member that managed a barrier before it was removed does not remember that it had fired.
func TestAFormerManagerOfWhatIsRemoved(t *testing.T) {
	c := newCluster(t, 6)
	on := c.outsiders()[0]
	c.enter(on, partial, "a")
	c.enter(on, partial, "b")
	c.settle()
	c.jump(12 * time.Second)
	c.jump(time.Second)
	var came phalanx.NodeID
	for i := 0; came == ""; i++ { // it takes the place of a manager
		id := phalanx.MakeNodeID(fmt.Sprint("new", i), uint64(100+i))
		v := c.view
		v.Members = append(slices.Clone(v.Members), id)
		if slices.Contains(barrier.ManagersOf(v, key.Name), id) {
			c.add(id)
			came = id
		}
	}
	c.pass(time.Second)
	r := c.removeBarrier(on)
	c.pass(time.Second)
	if d, ok := c.done[r]; !ok || d.Outcome != barrier.OK {
		t.Fatalf("%+v", d)
	}
	c.jump(12 * time.Second)
	c.jump(time.Second)
	c.fail(came)
	id := c.enter(on, partial, "c")
	c.pass(2 * time.Second)
	c.waits(id)
}

// Managers that are all new let nobody in before they are told what has fired, also if the first
// message that tells them is lost.
func TestWhatHasFiredIsKnownToNewManagers(t *testing.T) {
	const n = 400
	c := newCluster(t, 3)
	on, old := c.view.Members[0], slices.Clone(c.view.Members)
	for i := range n {
		c.named(on, fmt.Sprint("many/", i), barrier.Config{Max: 2, Percent: 50, Late: barrier.CatchUp}, "h")
		c.settle()
	}
	c.jump(12 * time.Second)
	c.jump(time.Second)
	first := map[[2]phalanx.NodeID]bool{}
	c.lose = func(from, to phalanx.NodeID, m barrier.Message) bool {
		k := [2]phalanx.NodeID{from, to}
		lost := is[barrier.Over](m) && !first[k]
		first[k] = first[k] || lost
		return lost
	}
	c.view.Number++
	c.view.Members = slices.Clone(c.view.Members)
	for i := range 3 {
		id := phalanx.MakeNodeID(fmt.Sprint("new", i), uint64(100+i))
		c.cores[id] = barrier.NewCore(barrier.CoreConfig{Attempts: uint64(i+50) << 20})
		c.view.Members = append(c.view.Members, id)
	}
	for _, id := range c.view.Members {
		c.learn(id)
		c.step(id, barrier.Leased{Until: c.now + 100*time.Hour})
	}
	ids := map[string]uint64{}
	for i := range n {
		name := fmt.Sprint("many/", i)
		if !slices.ContainsFunc(barrier.ManagersOf(c.view, name), func(m phalanx.NodeID) bool { return slices.Contains(old, m) }) {
			ids[name] = c.named(on, name, barrier.Config{Max: 2, Percent: 50, Late: barrier.CatchUp}, "late")
		}
	}
	c.settle()
	c.pass(3 * time.Second)
	if len(ids) == 0 {
		t.Fatal("no name has new managers alone")
	}
	for name, id := range ids {
		if d, ok := c.done[id]; !ok || d.Verdict != barrier.Behind {
			t.Errorf("%s: %+v %v", name, d.Verdict, ok)
		}
	}
}

// A node that does not know the nodes yet which have entered a barrier does not say that it knows
// that it has fired.
func TestOverOfNodesThatAreNotKnownYet(t *testing.T) {
	c := newCluster(t, 3)
	to, from := c.view.Members[0], c.view.Members[1]
	c.step(to, barrier.Heard{From: from, Message: barrier.Over{Num: 1, View: 2, Crowds: []barrier.Crowd{
		{Nodes: []phalanx.NodeID{phalanx.MakeNodeID("who", 99)}, Digests: []uint64{1}, Places: []uint32{1}}}}})
	for _, f := range c.queue {
		if is[barrier.OverKnown](f.m) {
			t.Error("it says that it knows, and has forgotten it")
		}
	}
}

// An entry that is inside a double barrier and enters again does not leave when that is given up.
func TestEnteringAgainDoesNotLeave(t *testing.T) {
	c := newCluster(t, 7)
	on, cfg := c.outsiders(), double(2)
	a, b := c.enter(on[0], cfg, "h0"), c.enter(on[1], cfg, "h1")
	c.settle()
	c.want(a, barrier.Fire)
	c.want(b, barrier.Fire)
	c.lose = func(from, to phalanx.NodeID, m barrier.Message) bool { return from == on[0] || to == on[0] }
	again := c.enter(on[0], cfg, "h0")
	c.settle()
	c.step(on[0], barrier.GiveUp{ID: again})
	c.pass(1500 * ms)
	c.lose = nil
	l := c.leave(on[1], cfg, "h1")
	c.pass(3 * time.Second)
	c.waits(l)
}

// The greatest generation is one like any other.
func TestTheLastGeneration(t *testing.T) {
	c := newCluster(t, 5)
	k := barrier.Key{Name: key.Name, Generation: math.MaxUint64}
	id := c.call(c.bystander(), barrier.Call{Kind: barrier.CallEnter, Key: k, Config: barrier.Config{Max: 1}, Entry: barrier.Entry{Host: "a"}})
	c.pass(5 * time.Second)
	for _, core := range c.cores {
		core.Seen()
	}
	c.want(id, barrier.Fire)
}

// Leaving costs little, however many are inside.
func TestManyLeave(t *testing.T) {
	const n = 40_000
	b := barrier.New(barrier.Config{Max: n, Double: true})
	for i := range n {
		b.Apply(barrier.Op{Kind: barrier.OpEnter, Entry: barrier.Entry{Host: fmt.Sprint("h", i)}, Node: "n#1", Attempt: 1})
	}
	departed := 0
	for i := range n { // 70 s, where each looked at all
		for _, e := range b.Apply(barrier.Op{Kind: barrier.OpLeave, Entry: barrier.Entry{Host: fmt.Sprint("h", i)}, Node: "n#1", Attempt: 2}) {
			if a, ok := e.(barrier.Answer); ok && a.Verdict == barrier.Departed {
				departed++
			}
		}
	}
	if departed != n {
		t.Errorf("%d have left", departed)
	}
}

// What is remembered of those who had come before a removal is forgotten while others wait, and is
// not told again and again.
func TestTombsAreForgotten(t *testing.T) {
	c := newCluster(t, 6)
	on, cfg := c.outsiders()[0], barrier.Config{Max: 20000}
	for i := range 10000 {
		c.enter(on, cfg, fmt.Sprint("h", i))
	}
	c.settle()
	c.removeBarrier(on)
	c.settle()
	c.enter(on, cfg, "x")
	c.settle()
	for range 10 {
		c.jump(time.Minute)
	}
	answers := 0
	c.lose = func(_, _ phalanx.NodeID, m barrier.Message) bool {
		if a, ok := m.(barrier.Answers); ok {
			answers += len(a.List)
		}
		return false
	}
	c.pass(10 * time.Second)
	if m := c.cores[c.managers()[0]].Memory(); answers > 1000 || m > 100_000 {
		t.Errorf("%d answers in 10 s, %d bytes", answers, m)
	}
}

// A node whose callbacks another one's have replaced, and that stops to watch then, asks no more.
func TestUnwatchOfWhatAnotherWatches(t *testing.T) {
	c := newCluster(t, 6)
	on := c.outsiders()
	for _, id := range on[:2] {
		c.call(id, barrier.Call{Kind: barrier.CallWatch, Key: key, Config: asks})
		c.settle()
	}
	c.call(on[0], barrier.Call{Kind: barrier.CallUnwatch, Key: key, Config: asks})
	c.pass(3 * time.Second)
	sent := 0
	c.lose = func(from, _ phalanx.NodeID, _ barrier.Message) bool {
		if from == on[0] {
			sent++
		}
		return false
	}
	c.pass(20 * time.Second)
	if sent > 0 || c.cores[on[0]].Memory() > 0 {
		t.Errorf("%d messages in 20 s, %d bytes", sent, c.cores[on[0]].Memory())
	}
}

// What a waiter of a semaphore has given up while that was removed is freed.
func TestFreedAfterARemoval(t *testing.T) {
	c := newCluster(t, 6)
	on, cfg := c.outsiders(), barrier.Config{Semaphore: barrier.Semaphore{Count: 1}}
	c.enter(on[0], cfg, "a")
	b := c.enter(on[1], cfg, "b")
	c.settle()
	c.waits(b)
	var late []flying
	c.lose = func(from, to phalanx.NodeID, m barrier.Message) bool {
		held := to == on[1] && is[barrier.Answers](m)
		if held {
			late = append(late, flying{from, to, m})
		}
		return held
	}
	c.removeBarrier(on[2])
	c.settle()
	c.lose = nil
	c.step(on[1], barrier.GiveUp{ID: b})
	c.queue = append(late, c.queue...)
	c.pass(5 * time.Second)
	frees := 0
	for _, o := range c.said[on[1]] {
		switch o := o.(type) {
		case barrier.GivenUp:
			if o.Frees != 0 {
				frees++
			}
		case barrier.Freed:
			frees--
		}
	}
	if frees != 0 {
		t.Errorf("%d are never freed", frees)
	}
}

// A double barrier that one leaves and gives up, and another never leaves, is forgotten.
func TestDoubleThatOneNeverLeaves(t *testing.T) {
	c := newCluster(t, 7)
	on, cfg := c.outsiders(), double(2)
	c.enter(on[0], cfg, "h0")
	c.enter(on[1], cfg, "h1")
	c.settle()
	l := c.leave(on[0], cfg, "h0")
	c.settle()
	c.step(on[0], barrier.GiveUp{ID: l})
	c.settle()
	for range 60 {
		c.jump(time.Minute)
	}
	for id, core := range c.cores {
		if m := core.Memory(); m > 1000 { // a node remembers who has passed there
			t.Errorf("%s: %d bytes an hour later", id, m)
		}
	}
}

// A node whose clock went back between two starts of its actor does not count up to where it was
// by a message for each number.
func TestATombAndAClockThatWentBack(t *testing.T) {
	c := newCluster(t, 7)
	on, cfg := c.outsiders(), barrier.Config{Max: 2, Throttle: barrier.Throttle{Count: 1, Period: 5 * time.Minute}}
	c.enter(on[0], cfg, "h0")
	b := c.enter(on[1], cfg, "h1")
	c.settle()
	c.step(on[1], barrier.GiveUp{ID: b})
	c.settle()
	c.cores[on[1]] = barrier.NewCore(barrier.CoreConfig{Attempts: 1})
	c.learn(on[1])
	c.step(on[1], barrier.Leased{Until: c.now + time.Hour})
	sent := 0
	c.lose = func(_, _ phalanx.NodeID, _ barrier.Message) bool { sent++; return sent > 2000 }
	c.enter(on[1], cfg, "h1")
	c.settle()
	if sent > 2000 {
		t.Errorf("%d messages at once", sent)
	}
}

// A state that no node makes does not hang the one that gets it.
func TestAQueueWithoutAThrottle(t *testing.T) {
	e := barrier.Entry{Host: "h"}
	b := barrier.Restore(barrier.Config{Max: 1}, barrier.State{Cause: barrier.ByMax, Queue: []barrier.Entry{e}, Entrances: []barrier.Entrance{{Entry: e}}})
	b.Apply(barrier.Op{Kind: barrier.OpAdvance, At: 1})
}

// News of a barrier that has fired, that comes late, after it was removed, says nothing.
func TestLateNewsOfWhatWasRemoved(t *testing.T) {
	c := newCluster(t, 6)
	on := c.outsiders()[0]
	c.firedAndForgotten(on)
	var late []flying
	c.lose = func(from, to phalanx.NodeID, m barrier.Message) bool {
		if is[barrier.Over](m) {
			late = append(late, flying{from, to, m})
		}
		return false
	}
	c.add(c.freshManager())
	if len(late) == 0 {
		t.Fatal("nothing is told")
	}
	c.removeBarrier(on)
	c.pass(time.Second)
	c.queue = append(c.queue, late...)
	c.settle()
	c.jump(11 * time.Second)
	c.jump(time.Second)
	id := c.enter(on, partial, "late")
	c.pass(time.Second)
	c.waits(id)
}

// A semaphore that was removed and that nobody holds is as new: another Config may be given.
func TestRemoveAnIdleSemaphore(t *testing.T) {
	c := newCluster(t, 6)
	on := c.outsiders()
	cfg := barrier.Config{Semaphore: barrier.Semaphore{Count: 1}}
	c.want2(c.enter(on[0], cfg, "a"))
	c.call(on[0], barrier.Call{Kind: barrier.CallRelease, Key: key, Config: cfg, Entry: barrier.Entry{Host: "a"}})
	c.settle()
	c.removeBarrier(on[2])
	c.settle()
	b := c.enter(on[1], barrier.Config{Semaphore: barrier.Semaphore{Count: 2}}, "b")
	c.settle()
	c.want(b, barrier.Fire)
}

// Those who were inside a double barrier when it was removed are told so when they leave.
func TestLeaveWhatWasRemoved(t *testing.T) {
	c := newCluster(t, 6)
	on := c.outsiders()
	c.enter(on[0], double(2), "a")
	c.enter(on[1], double(2), "b")
	c.settle()
	c.removeBarrier(on[2])
	c.settle()
	a := c.leave(on[0], double(2), "a")
	c.pass(time.Second)
	c.want(a, barrier.Deleted)
}

// A node whose actor was started again since the members changed last hears the primary: who has
// passed, and by which Config to enter.
func TestARestartedNodeHearsThePrimary(t *testing.T) {
	for _, kind := range []barrier.CallKind{barrier.CallHosts, barrier.CallStanding, barrier.CallConfig} {
		c := newCluster(t, 5)
		on := c.outsiders()
		c.enter(on[0], partial, "a")
		c.enter(on[0], partial, "b") // it fires, and nobody asks any more
		c.settle()
		c.view.Number++ // the members are as before
		for _, id := range c.view.Members {
			c.learn(id)
		}
		c.cores[on[1]] = barrier.NewCore(barrier.CoreConfig{Attempts: 1 << 40})
		c.learn(on[1])
		c.step(on[1], barrier.Leased{Until: c.now + time.Hour})
		for i := range 200 { // it is the primary of one, and asks no other primary
			if name := fmt.Sprint("other/", i); barrier.ManagersOf(c.view, name)[0] == on[1] {
				c.named(on[1], name, partial, "x")
				break
			}
		}
		c.pass(time.Second)
		id := c.call(on[1], barrier.Call{Kind: kind, Key: key})
		c.pass(3 * time.Second)
		if d, ok := c.done[id]; !ok || d.Outcome != barrier.OK {
			t.Errorf("call %d: %+v, %v", kind, d, ok)
		}
	}
}

// A primary that was started again before a barrier was forgotten is told by its backups that it has
// fired, also if the members change often meanwhile.
func TestABackupOutlivesItsPrimary(t *testing.T) {
	c := newCluster(t, 6)
	on := c.outsiders()[0]
	c.enter(on, partial, "a")
	c.enter(on, partial, "b")
	c.settle()
	managers := c.managers()
	c.cores[managers[0]] = barrier.NewCore(barrier.CoreConfig{Attempts: 1 << 40})
	c.learn(managers[0])
	c.step(managers[0], barrier.Leased{Until: c.now + time.Hour})
	for i := range 6 {
		c.jump(4 * time.Second)
		c.add(phalanx.MakeNodeID(fmt.Sprint("new", i), uint64(100+i)))
	}
	for _, id := range managers[1:] {
		c.kill(id)
		c.remove(id)
		c.pass(100 * ms)
	}
	id := c.enter(on, partial, "late")
	c.pass(time.Second)
	c.want(id, barrier.Behind)
}

// A backup that remembers by itself that a barrier has fired, when the nodes are gone from which it
// was entered, does not refuse the next one.
func TestABackupOutlivesAllWhoHadEntered(t *testing.T) {
	c := newCluster(t, 8)
	on := c.outsiders()
	c.enter(on[0], partial, "a")
	c.enter(on[1], partial, "b")
	c.settle()
	primary := c.managers()[0]
	c.cores[primary] = barrier.NewCore(barrier.CoreConfig{Attempts: 1 << 40}) // it knows nothing of the barrier
	c.learn(primary)
	c.step(primary, barrier.Leased{Until: c.now + time.Hour})
	c.fail(on[0])
	c.fail(on[1])
	c.jump(21 * time.Second)
	c.jump(time.Second)
	a, b := c.enter(on[2], partial, "a"), c.enter(on[3], partial, "b")
	c.pass(3 * time.Second)
	c.want(a, barrier.Fire)
	c.want(b, barrier.Fire)
}
