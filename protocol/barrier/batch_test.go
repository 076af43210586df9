package barrier_test

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/protocol/barrier"
)

// From holder to holder of a semaphore of one, term and batch rise: also when all of it was
// forgotten, when the primary's Core is made anew, and when the primary dies.
func TestBatchesOfHoldersRise(t *testing.T) {
	c := newCluster(t, 4)
	cfg := barrier.Config{Semaphore: barrier.Semaphore{Count: 1}}
	on := c.bystander()
	var last barrier.Done
	round := func(what string) {
		t.Helper()
		for range 3 {
			id := c.enter(on, cfg, "h")
			c.pass(2 * time.Second)
			c.want(id, barrier.Fire)
			d := c.done[id]
			if d.Term < last.Term || d.Term == last.Term && d.Batch <= last.Batch {
				t.Errorf("%s: term %d, batch %d after term %d, batch %d", what, d.Term, d.Batch, last.Term, last.Batch)
			}
			last = d
			c.call(on, barrier.Call{Kind: barrier.CallRelease, Key: key, Config: cfg, Entry: barrier.Entry{Host: "h"}})
			c.settle()
		}
	}
	round("at first")
	term := last.Term
	c.now += 11 * time.Minute
	c.pass(10 * ms)
	if seen := c.cores[c.managers()[0]].Seen(); len(seen) != 0 {
		t.Fatalf("%d are left", len(seen))
	}
	round("after it was forgotten")
	first := c.managers()[0]
	c.cores[first] = barrier.NewCore(barrier.CoreConfig{})
	c.learn(first)
	c.step(first, barrier.Leased{Until: time.Hour})
	round("after its primary's core was made anew")
	if last.Term != term {
		t.Errorf("the term is %d, it was %d", last.Term, term)
	}
	c.kill(first)
	c.remove(first)
	round("after its primary has died")
	if last.Term == term {
		t.Error("the term is the same")
	}
}

// A brief question is answered by how the barrier stands alone.
func TestStanding(t *testing.T) {
	c := newCluster(t, 3)
	cfg := barrier.Config{Semaphore: barrier.Semaphore{Count: 1}}
	id := c.call(c.bystander(), barrier.Call{Kind: barrier.CallStanding, Key: key})
	c.pass(time.Second)
	if d := c.done[id]; d.Outcome != barrier.Unknown {
		t.Errorf("%+v", d)
	}
	c.enter(c.bystander(), cfg, "h")
	c.pass(time.Second)
	id = c.call(c.bystander(), barrier.Call{Kind: barrier.CallStanding, Key: key})
	c.pass(time.Second)
	if d := c.done[id]; d.Outcome != barrier.OK || len(d.Last.Holders) != 1 || d.Last.Holders[0].Host != "h" || d.Hosts != nil {
		t.Errorf("%+v", d)
	}
}
