package barrier_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
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

// unleased is a primary that has gathered, and has no lease.
func (c *clusterOf) unleased() phalanx.NodeID {
	primary := c.managers()[0]
	c.cores[primary] = barrier.NewCore(barrier.CoreConfig{Attempts: 1 << 40})
	c.learn(primary)
	for i := range 200 {
		if name := fmt.Sprint("other/", i); barrier.ManagersOf(c.view, name)[0] == primary {
			c.named(c.outsiders()[0], name, barrier.Config{Max: 9}, "x")
			break
		}
	}
	c.pass(20 * ms)
	return primary
}

// A barrier's time begins when somebody enters, and not when its primary has a lease.
func TestTimeCountsWhileALeaseIsAwaited(t *testing.T) {
	c := newCluster(t, 6)
	primary := c.unleased()
	began := c.now
	a := c.enter(c.outsiders()[0], barrier.Config{Max: 3, Timeout: 4 * time.Second}, "a")
	c.pass(3560 * ms)
	c.step(primary, barrier.Leased{Until: c.now + time.Hour})
	c.settle()
	for c.done[a].ID == 0 && c.now-began < 12*time.Second {
		c.pass(10 * ms)
	}
	if took := c.now - began; took > 4100*ms {
		t.Errorf("it times out after %v, and its timeout is 4s", took)
	}
}

// What somebody has asked a primary without a lease who has given up is not heard later.
func TestWhoHasGivenUpDoesNotEnterWithTheLease(t *testing.T) {
	c := newCluster(t, 6)
	primary := c.unleased()
	on := c.outsiders()
	cfg := barrier.Config{Max: 2}
	a := c.enter(on[0], cfg, "a")
	c.pass(time.Second)
	c.lose = func(from, to phalanx.NodeID, _ barrier.Message) bool { return from == on[0] && to == primary }
	c.step(on[0], barrier.GiveUp{ID: a})
	c.pass(3 * time.Second)
	b := c.enter(on[1], cfg, "b")
	c.pass(time.Second)
	c.step(primary, barrier.Leased{Until: c.now + time.Hour})
	c.settle()
	c.waits(b)
}

// A node that has no lease lets nobody hold a semaphore before it has one, and does not ask again
// and again until then.
func TestAHolderWithoutALease(t *testing.T) {
	c := newCluster(t, 6)
	on := c.outsiders()[0]
	c.cores[on] = barrier.NewCore(barrier.CoreConfig{Attempts: 1 << 50})
	c.learn(on)
	asked := 0
	c.lose = func(from, _ phalanx.NodeID, m barrier.Message) bool {
		if from == on && is[barrier.Reached](m) {
			asked++
		}
		return asked > 100
	}
	id := c.enter(on, barrier.Config{Semaphore: barrier.Semaphore{Count: 1}}, "h")
	c.pass(10 * time.Second)
	c.waits(id)
	if asked > 20 {
		t.Errorf("it has asked %d times in ten seconds", asked)
	}
	c.step(on, barrier.Leased{Until: c.now + time.Hour})
	c.settle()
	c.want(id, barrier.Fire)
}

// A node that has no lease any more, and hears late that its holder is admitted, goes on releasing.
func TestALateAdmissionWithoutALease(t *testing.T) {
	c := newCluster(t, 6)
	on := c.outsiders()[0]
	c.cores[on] = barrier.NewCore(barrier.CoreConfig{Attempts: 1 << 50})
	c.learn(on)
	c.step(on, barrier.Leased{Until: c.now + 100*ms})
	sem := barrier.Config{Semaphore: barrier.Semaphore{Count: 1}}
	var admitted barrier.Message
	c.lose = func(_, to phalanx.NodeID, m barrier.Message) bool {
		if to == on && is[barrier.Answers](m) {
			admitted = m
		}
		return false
	}
	id := c.enter(on, sem, "h")
	c.settle()
	c.want(id, barrier.Fire)
	c.pass(200 * ms)
	c.lose = func(from, _ phalanx.NodeID, m barrier.Message) bool { return from == on && is[barrier.Reached](m) }
	c.call(on, barrier.Call{Kind: barrier.CallRelease, Key: key, Entry: barrier.Entry{Host: "h"}})
	c.settle()
	c.step(on, barrier.Heard{From: c.managers()[0], Message: admitted})
	c.settle()
	c.lose = nil
	c.pass(2 * time.Second)
	next := c.enter(c.outsiders()[1], sem, "next")
	c.pass(time.Second)
	c.want(next, barrier.Fire)
}

// Repeats of a question are kept once.
func TestARepeatIsKeptOnce(t *testing.T) {
	c := newCluster(t, 6)
	primary := c.unleased()
	c.enter(c.outsiders()[0], barrier.Config{Max: 3}, "a")
	c.pass(10 * time.Second)
	before := c.cores[primary].Memory()
	ops := 0
	c.lose = func(_, _ phalanx.NodeID, m barrier.Message) bool {
		if r, ok := m.(barrier.Replicate); ok && r.Key == key {
			ops = max(ops, len(r.Ops))
		}
		return false
	}
	c.step(primary, barrier.Leased{Until: c.now + time.Hour})
	c.settle()
	if ops != 2 || before > 4000 {
		t.Errorf("%d changes are made in a batch; %d bytes were kept", ops, before)
	}
}

// A holder that has released a semaphore does not hold it again when a former backup that has not
// heard of that is the only one that knows the semaphore, wherever the holder is.
func TestAFormerBackupDoesNotHearOfARelease(t *testing.T) {
	for _, onPrimary := range []bool{false, true} {
		c := newCluster(t, 8)
		on := c.outsiders()[0]
		if onPrimary {
			on = c.managers()[0]
		}
		sem := barrier.Config{Semaphore: barrier.Semaphore{Count: 1}}
		h := c.enter(on, sem, "h")
		c.settle()
		c.want(h, barrier.Fire)
		c.lose = func(_, _ phalanx.NodeID, m barrier.Message) bool { return is[barrier.Forget](m) }
		c.joinAs(100)
		c.pass(time.Second)
		c.lose = nil
		c.call(on, barrier.Call{Kind: barrier.CallRelease, Key: key, Entry: barrier.Entry{Host: "h"}})
		c.pass(time.Second)
		c.jump(12 * time.Second)
		c.pass(time.Second)
		c.joinAs(200)
		c.pass(time.Second)
		next := c.enter(c.outsiders()[1], sem, "x")
		c.pass(time.Second)
		c.want(next, barrier.Fire)
	}
}

// joinAs has a member join that becomes a backup of the barrier; the primary stays.
func (c *clusterOf) joinAs(incarnation uint64) {
	before := c.managers()
	for i := 0; ; i++ {
		id := phalanx.MakeNodeID(fmt.Sprint("new", incarnation, "-", i), incarnation)
		v := c.view
		v.Members = append(append([]phalanx.NodeID(nil), v.Members...), id)
		if now := barrier.ManagersOf(v, key.Name); now[0] == before[0] && (now[1] == id || now[2] == id) {
			c.add(id)
			return
		}
	}
}

// Callers of the primary's own node hold a semaphore on, when its actor is started again and hears
// of them before the view.
func TestAPrimaryThatIsStartedAgainKeepsItsHolders(t *testing.T) {
	c := newCluster(t, 6)
	p := c.managers()[0]
	sem := barrier.Config{Semaphore: barrier.Semaphore{Count: 2}}
	h1, h2 := c.enter(p, sem, "h1"), c.enter(p, sem, "h2")
	c.settle()
	c.want(h1, barrier.Fire)
	c.want(h2, barrier.Fire)
	w := c.enter(c.outsiders()[0], sem, "w")
	c.settle()
	c.waits(w)
	c.pass(10 * ms)
	c.cores[p] = barrier.NewCore(barrier.CoreConfig{Attempts: 1 << 40})
	for id, h := range map[uint64]string{h1: "h1", h2: "h2"} {
		c.step(p, barrier.Call{Kind: barrier.CallEnter, Key: key, Config: sem, Entry: barrier.Entry{Host: h}, Attempt: c.done[id].Attempt})
	}
	c.learn(p)
	c.step(p, barrier.Leased{Until: c.now + time.Hour})
	c.pass(time.Second)
	c.waits(w)
}

// A node is idle, and needs no lease, unless somebody waits there or it decides about a
// barrier that is not over.
func TestIdle(t *testing.T) {
	c := newCluster(t, 6)
	busy := func() (out []phalanx.NodeID) {
		for _, id := range c.view.Members {
			if !c.cores[id].Idle() {
				out = append(out, id)
			}
		}
		return out
	}
	if all := busy(); len(all) > 0 {
		t.Errorf("%v are not idle before anything has happened", all)
	}
	on := c.outsiders()
	primary := c.managers()[0]
	a := c.enter(on[0], barrier.Config{Max: 2}, "a")
	c.settle()
	for _, id := range []phalanx.NodeID{primary, on[0]} {
		if c.cores[id].Idle() {
			t.Errorf("%s is idle while somebody waits", id)
		}
	}
	b := c.enter(on[1], barrier.Config{Max: 2}, "b")
	c.settle()
	c.want(a, barrier.Fire)
	c.want(b, barrier.Fire)
	c.pass(time.Second)
	if all := busy(); len(all) > 0 {
		t.Errorf("%v are not idle although the barrier has fired", all)
	}
}
