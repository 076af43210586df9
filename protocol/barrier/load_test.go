package barrier_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/barrier"
)

// perMillisecond is how many messages a loaded node handles in a millisecond.
const perMillisecond = 20

// loaded opens so many barriers of three at once on three nodes, whose mailboxes grow: a
// node handles perMillisecond messages, each alone or all together. It returns how many
// messages were sent until all have been released.
func loaded(t *testing.T, barriers int, together bool) (sent int) {
	c := newCluster(t, 3)
	c.lose = func(phalanx.NodeID, phalanx.NodeID, barrier.Message) bool { sent++; return false }
	for i := range barriers {
		for _, n := range c.view.Members {
			c.call(n, barrier.Call{Kind: barrier.CallEnter, Key: barrier.Key{Name: fmt.Sprint("b", i)}, Config: barrier.Config{Max: 3}, Entry: barrier.Entry{Host: n.Name()}})
		}
	}
	for end := c.now + 60_000*ms; len(c.done) < 3*barriers; c.now += ms {
		if c.now > end {
			t.Fatalf("%d of %d have been released after a minute", len(c.done), 3*barriers)
		}
		mailbox := c.queue
		c.queue = nil
		handled := map[phalanx.NodeID]barrier.Batch{}
		for _, f := range mailbox {
			if e := (barrier.Heard{From: f.from, Message: f.m}); len(handled[f.to]) < perMillisecond {
				handled[f.to] = append(handled[f.to], e)
			} else {
				c.queue = append(c.queue, f)
			}
		}
		for _, n := range c.view.Members {
			if together {
				c.step(n, handled[n])
			} else {
				for _, e := range handled[n] {
					c.step(n, e)
				}
			}
			if at, ok := c.cores[n].Due(); ok && at <= c.now {
				c.step(n, barrier.Tick{})
			}
		}
	}
	return sent
}

// TestRepeatsDoNotFillMailboxes checks that no message is repeated because it waits in a
// mailbox. A barrier of three takes 18 messages if each entry goes to the two backups
// alone: three questions, three answers, six changes, six confirmations.
func TestRepeatsDoNotFillMailboxes(t *testing.T) {
	many := 4000
	if testing.Short() {
		many = 1000
	}
	for _, together := range []bool{false, true} {
		if n := loaded(t, many, together) / many; n > 18 {
			t.Errorf("a barrier of three takes %d messages among %d; handled together: %v", n, many, together)
		}
	}
}

// TestABatchIsOneChange checks that all who enter in one batch go to a backup together.
func TestABatchIsOneChange(t *testing.T) {
	c := newCluster(t, 4)
	c.enter(c.managers()[0], barrier.Config{Max: 10}, "first")
	c.settle() // the primary has gathered
	var batch barrier.Batch
	for _, n := range c.view.Members {
		if n == c.managers()[0] {
			batch = append(batch, barrier.Call{ID: 100, Kind: barrier.CallEnter, Key: key, Config: barrier.Config{Max: 10}, Entry: barrier.Entry{Host: "own"}})
			continue
		}
		batch = append(batch, barrier.Heard{From: n, Message: barrier.Reached{Key: key, Config: barrier.Config{Max: 10}, Requests: []barrier.Request{{Entry: barrier.Entry{Host: n.Name()}, Attempt: 1}}}})
	}
	c.step(c.managers()[0], batch)
	to := map[phalanx.NodeID]int{}
	for _, f := range c.queue {
		if r, ok := f.m.(barrier.Replicate); ok {
			if to[f.to]++; len(r.Ops) != len(batch)+1 { // and one that looks whether it fires
				t.Errorf("%s is sent %d changes, want %d", f.to, len(r.Ops), len(batch)+1)
			}
		}
	}
	if len(to) != 2 || to[c.managers()[1]] != 1 {
		t.Errorf("backups were sent %v", to)
	}
}

// soon as before.
func TestOneThatHangsDoesNotSlowRepeats(t *testing.T) {
	c := newCluster(t, 6)
	on := c.bystander()
	sem := barrier.Config{Semaphore: barrier.Semaphore{Count: 1, Timeout: 5 * time.Second}}
	id := c.enter(on, sem, "h")
	c.settle()
	c.want(id, barrier.Fire)
	primary := c.managers()[0]
	var k barrier.Key
	for i := 0; ; i++ {
		k = barrier.Key{Name: fmt.Sprint("other/", i)}
		if m := barrier.ManagersOf(c.view, k.Name); !slices.Contains(m, primary) && !slices.Contains(m, on) {
			break
		}
	}
	before := c.call(on, barrier.Call{Kind: barrier.CallEnter, Key: k, Config: barrier.Config{Max: 1}, Entry: barrier.Entry{Host: "x"}})
	c.settle()
	c.want(before, barrier.Fire)
	k.Generation = 1
	c.lose = func(from, to phalanx.NodeID, _ barrier.Message) bool { return to == primary }
	c.pass(10 * time.Second) // the holder polls, and then its time is over
	lost := false
	c.lose = func(from, to phalanx.NodeID, m barrier.Message) bool {
		if r, ok := m.(barrier.Reached); ok && r.Key == k && !lost {
			lost = true
			return true
		}
		return to == primary
	}
	other := c.call(on, barrier.Call{Kind: barrier.CallEnter, Key: k, Config: barrier.Config{Max: 1}, Entry: barrier.Entry{Host: "x"}})
	began := c.now
	for c.done[other].ID == 0 && c.now-began < 3*time.Second {
		c.pass(ms)
	}
	if d := c.now - began; d > 100*ms {
		t.Errorf("a lost question is repeated after %v", d)
	}
}
