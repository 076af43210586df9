package barrier_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/barrier"
)

func (c *clusterOf) removeBarrier(on phalanx.NodeID) uint64 {
	return c.call(on, barrier.Call{Kind: barrier.CallRemove, Key: key})
}

// A barrier that is removed ends for those who wait in it, and its name is as new, whether it
// had fired or not, and also if only that was known.
func TestRemove(t *testing.T) {
	c := newCluster(t, 6)
	on := c.outsiders()
	a := c.enter(on[0], partial, "a")
	c.settle()
	id := c.removeBarrier(on[1])
	c.settle()
	c.want(a, barrier.Deleted)
	if d, ok := c.done[id]; !ok || d.Outcome != barrier.OK {
		t.Errorf("%+v, %v", d, ok)
	}
	for _, later := range []time.Duration{0, 12 * time.Second} {
		first := c.enter(on[0], partial, "a")
		c.settle()
		c.waits(first)
		second := c.enter(on[2], partial, "b")
		c.settle()
		c.want(first, barrier.Fire)
		c.want(second, barrier.Fire)
		c.jump(later)
		c.jump(later)
		c.removeBarrier(on[1])
		c.settle()
		c.jump(later)
		c.jump(later)
	}
	other := c.enter(on[0], barrier.Config{Max: 5}, "a") // and another Config may be given
	c.settle()
	c.waits(other)
	for range 2 {
		c.removeBarrier(on[1])
		c.settle()
	}
	c.want(other, barrier.Deleted)
	c.jump(11 * time.Second)
	id = c.removeBarrier(on[1])
	c.settle()
	if d := c.done[id]; d.Outcome != barrier.Unknown {
		t.Errorf("nobody has entered: %+v", d)
	}
}

// What is late of a barrier that was removed does not come to the next one: neither entries, nor
// the removal itself; and whoever did not hear hears it from the next primary.
func TestRemoveOnce(t *testing.T) {
	c := newCluster(t, 6)
	on := c.outsiders()
	var late []flying
	c.lose = func(from, to phalanx.NodeID, m barrier.Message) bool {
		switch m.(type) {
		case barrier.Reached, barrier.Remove:
			late = append(late, flying{from, to, m})
		}
		return to == on[0] && is[barrier.Answers](m) && len(late) > 1
	}
	a := c.enter(on[0], partial, "a")
	c.settle()
	c.removeBarrier(on[1])
	c.settle()
	c.waits(a) // its answer was lost
	copies := slices.Clone(late)
	b := c.enter(on[2], partial, "b")
	c.settle()
	c.queue = append(c.queue, copies...)
	c.settle()
	c.waits(b)
	c.lose = nil
	c.fail(c.managers()[0])
	c.pass(2 * time.Second)
	c.want(a, barrier.Deleted)
	c.waits(b)
	again := c.enter(on[0], partial, "a")
	c.pass(time.Second)
	c.want(again, barrier.Fire)
	c.want(b, barrier.Fire)
}

// Who holds a semaphore that is removed goes on holding it; who waits for it is told.
func TestRemoveASemaphore(t *testing.T) {
	c := newCluster(t, 6)
	on := c.outsiders()
	cfg := barrier.Config{Semaphore: barrier.Semaphore{Count: 1}}
	holder := c.enter(on[0], cfg, "a")
	waiting := c.enter(on[1], cfg, "b")
	c.settle()
	c.want(holder, barrier.Fire)
	c.removeBarrier(on[2])
	c.settle()
	c.want(waiting, barrier.Deleted)
	next := c.enter(on[1], cfg, "b")
	c.settle()
	c.waits(next)
	c.call(on[0], barrier.Call{Kind: barrier.CallRelease, Key: key, Config: cfg, Entry: barrier.Entry{Host: "a"}})
	c.settle()
	c.want(next, barrier.Fire)
}

// What 5,000 removed barriers leave behind is forgotten.
func TestMemoryOfWhatIsRemoved(t *testing.T) {
	c := newCluster(t, 3)
	for i := range 5000 {
		k := barrier.Key{Name: fmt.Sprint("many/", i)}
		c.call(c.view.Members[i%3], barrier.Call{Kind: barrier.CallEnter, Key: k, Config: partial, Entry: barrier.Entry{Host: "h"}})
		c.settle()
		c.call(c.view.Members[(i+1)%3], barrier.Call{Kind: barrier.CallRemove, Key: k})
		c.settle()
	}
	c.jump(11 * time.Second)
	c.jump(time.Second)
	for id, core := range c.cores {
		if m := core.Memory(); m != 0 {
			t.Errorf("%s: %d bytes", id, m)
		}
	}
}

// Removals of 10,000 barriers of which only that was known that they had fired are forgotten once no
// older news of them can come, though nobody uses a barrier any more.
func TestMemoryOfRemovalsOfForgottenBarriers(t *testing.T) {
	n := 10_000
	if testing.Short() {
		n = 2000
	}
	c := newCluster(t, 3)
	keyOf := func(i int) barrier.Key { return barrier.Key{Name: fmt.Sprint("many/", i)} }
	for i := range n {
		for h := range 2 {
			c.named(c.view.Members[h], keyOf(i).Name, partial, fmt.Sprint("h", h))
		}
		c.settle()
	}
	c.jump(11 * time.Second)
	c.jump(time.Second)
	for i := range n {
		c.call(c.view.Members[i%3], barrier.Call{Kind: barrier.CallRemove, Key: keyOf(i)})
		c.settle()
	}
	for id, core := range c.cores {
		if m := core.Memory(); m < 8*n {
			t.Errorf("%s: %d bytes for %d removals", id, m, n)
		}
	}
	c.pass(12 * time.Second)
	for id, core := range c.cores {
		if m := core.Memory(); m != 0 {
			t.Errorf("%s: %d bytes", id, m)
		}
		if at, ok := core.Due(); ok {
			t.Errorf("%s wants to be ticked at %v", id, at)
		}
	}
}

// A release that is late, of an entry that has waited again when the semaphore was removed, ends.
func TestReleaseAfterRemove(t *testing.T) {
	c := newCluster(t, 6)
	on := c.outsiders()
	cfg := barrier.Config{Semaphore: barrier.Semaphore{Count: 1}}
	a := c.enter(on[0], cfg, "a")
	c.settle()
	c.want(a, barrier.Fire)
	c.lose = func(from, _ phalanx.NodeID, m barrier.Message) bool {
		r, ok := m.(barrier.Reached)
		return ok && from == on[0] && len(r.Requests) == 1
	}
	release := c.call(on[0], barrier.Call{Kind: barrier.CallRelease, Key: key, Config: cfg, Entry: barrier.Entry{Host: "a"}})
	c.settle()
	c.enter(on[1], cfg, "b")
	c.settle()
	again := c.enter(on[0], cfg, "a")
	c.settle()
	c.removeBarrier(on[2])
	c.settle()
	c.lose = nil
	c.pass(3 * time.Second)
	if _, ok := c.done[release]; !ok {
		t.Error("the release does not end")
	}
	if d, ok := c.done[again]; !ok || d.Verdict != barrier.Deleted && d.Verdict != barrier.Fire {
		t.Errorf("%+v, %v", d, ok)
	}
}

// A release ends, and what is given up is freed, also if the entry waited again when the semaphore
// was removed, and its caller has gone.
func TestReleaseOfWhatIsRemoved(t *testing.T) {
	c := newCluster(t, 6)
	on := c.outsiders()
	cfg := barrier.Config{Semaphore: barrier.Semaphore{Count: 1}}
	c.enter(on[0], cfg, "a")
	c.settle()
	mute := true
	c.lose = func(from, _ phalanx.NodeID, m barrier.Message) bool {
		return mute && from == on[0] && is[barrier.Reached](m)
	}
	release := c.call(on[0], barrier.Call{Kind: barrier.CallRelease, Key: key, Config: cfg, Entry: barrier.Entry{Host: "a"}})
	again := c.enter(on[0], cfg, "a")
	c.settle()
	other := c.enter(on[1], cfg, "b")
	c.settle()
	c.waits(other)
	mute = false
	c.pass(200 * ms)
	c.want(other, barrier.Fire)
	mute = true
	c.step(on[0], barrier.GiveUp{ID: again})
	c.removeBarrier(on[2])
	c.settle()
	mute = false
	c.pass(3 * time.Second)
	if _, ok := c.done[release]; !ok {
		t.Error("the release does not end")
	}
	freed := 0
	for _, o := range c.said[on[0]] {
		if _, ok := o.(barrier.Freed); ok {
			freed++
		}
	}
	if freed == 0 {
		t.Error("nothing is freed")
	}
}

// The answer to a participant is lost, and the removal is forgotten by the time that its node asks
// again: nobody knows any more whether the barrier had fired.
func TestAnAnswerIsLostUntilTheRemovalIsForgotten(t *testing.T) {
	c := newCluster(t, 8)
	on := c.bystander()
	cfg := barrier.Config{Max: 2}
	id := c.enter(on, cfg, "a")
	c.settle()
	c.lose = func(from, to phalanx.NodeID, _ barrier.Message) bool { return from == on || to == on }
	other := c.enter(c.managers()[0], cfg, "b")
	c.settle()
	c.want(other, barrier.Fire)
	c.removeBarrier(c.managers()[0])
	for range 60 {
		c.pass(time.Second)
	}
	c.waits(id)
	c.lose = nil
	c.pass(5 * time.Second)
	c.want(id, barrier.Doubtful)
}
