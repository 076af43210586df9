package barrier_test

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/barrier"
)

var asks = barrier.Config{Max: 3, Callback: true, CallbackTimeout: 300 * ms}

func (c *clusterOf) watch(on phalanx.NodeID) uint64 {
	return c.call(on, barrier.Call{Kind: barrier.CallWatch, Key: key, Config: asks})
}

// asked returns how many questions the callbacks of a node were asked.
func (c *clusterOf) asked(on phalanx.NodeID) (n int) {
	for _, o := range c.said[on] {
		if _, ok := o.(barrier.Callback); ok {
			n++
		}
	}
	return n
}

// A Watch that is given up has waited for the primary, whatever that has said of who
// has entered; and so has a release.
func TestWhatIsGivenUpWithoutAnAnswer(t *testing.T) {
	c := newCluster(t, 4)
	on := c.bystander()
	slots := barrier.Config{Semaphore: barrier.Semaphore{Count: 1}}
	for _, call := range []barrier.Call{
		{Kind: barrier.CallWatch, Key: key, Config: asks},
		{Kind: barrier.CallRelease, Key: barrier.Key{Name: "slots/2"}, Config: slots, Entry: barrier.Entry{Host: "a"}},
	} {
		enter := call
		enter.Kind, enter.Entry = barrier.CallEnter, barrier.Entry{Host: "a"}
		c.call(on, enter)
		c.settle()
		c.lose = func(_, _ phalanx.NodeID, m barrier.Message) bool { return is[barrier.Answers](m) }
		id := c.call(on, call)
		c.settle()
		c.waits(id)
		c.said[on] = nil
		c.step(on, barrier.GiveUp{ID: id})
		want := barrier.ManagersOf(c.view, call.Key.Name)[0]
		if g, ok := c.said[on][0].(barrier.GivenUp); !ok || g.Heard || g.Primary != want {
			t.Errorf("%+v", c.said[on][0])
		}
		c.lose = nil
		c.settle()
	}
}

// Who watches again right after it has stopped is asked, and is not told so before
// the primary knows.
func TestAWatchAfterAnUnwatch(t *testing.T) {
	c := newCluster(t, 4)
	on := c.bystander()
	first := c.watch(on)
	c.settle()
	c.want(first, barrier.Registered)
	c.now += ms
	c.call(on, barrier.Call{Kind: barrier.CallUnwatch, Key: key, Config: asks})
	second := c.watch(on)
	c.waits(second)
	c.settle()
	c.want(second, barrier.Registered)
	c.enter(c.managers()[1], asks, "a")
	c.settle()
	if n := c.asked(on); n != 1 {
		t.Errorf("%d questions", n)
	}
}

// What the primary has said of an earlier Watch does not answer a later one.
func TestAnAnswerToAnEarlierWatch(t *testing.T) {
	c := newCluster(t, 4)
	on := c.bystander()
	var late []flying
	c.lose = func(from, to phalanx.NodeID, m barrier.Message) bool {
		if a, ok := m.(barrier.Answers); ok && a.Watched {
			late = append(late, flying{from, to, m})
		}
		return false
	}
	c.watch(on)
	c.settle()
	c.now += ms
	c.call(on, barrier.Call{Kind: barrier.CallUnwatch, Key: key, Config: asks})
	second := c.watch(on)
	c.lose = nil
	for _, f := range late {
		c.step(f.to, barrier.Heard{From: f.from, Message: f.m})
	}
	c.waits(second)
	c.pass(100 * ms)
	c.want(second, barrier.Registered)
	c.enter(c.managers()[1], asks, "a")
	c.settle()
	if n := c.asked(on); n != 1 {
		t.Errorf("%d questions", n)
	}
}

// A barrier whose callbacks' node and participants' nodes are gone costs nothing, and its callbacks
// are called again when somebody has them.
func TestNobodyIsThereToCall(t *testing.T) {
	d := newDrive(t, asks)
	d.apply(barrier.Op{Kind: barrier.OpWatch, Node: "w"})
	d.enter(0, 0)
	d.apply(barrier.Op{Kind: barrier.OpGone, At: ms, Node: "w"})
	d.until(2000 * ms)
	if _, ok := d.Due(); !ok {
		t.Error("nothing is due while somebody waits")
	}
	d.apply(barrier.Op{Kind: barrier.OpGone, At: 2001 * ms, Node: "nh000"})
	d.until(3000 * ms)
	if at, ok := d.Due(); ok {
		t.Errorf("something is due at %v with nobody there", at)
	}
	d.apply(barrier.Op{Kind: barrier.OpWatch, At: 3001 * ms, Node: "w"})
	for _, e := range d.apply(barrier.Op{Kind: barrier.OpAdvance, At: 3001 * ms}) {
		if _, ok := e.(barrier.Asked); ok {
			return
		}
	}
	t.Error("the callbacks are not called again")
}

// A late copy of a Watch does not bring callbacks back that are no more.
func TestALateWatch(t *testing.T) {
	c := newCluster(t, 4)
	on, cfg := c.bystander(), barrier.Config{Max: 3, Callback: true, CallbackTimeout: 50 * ms}
	var watch barrier.Message
	c.lose = func(from, _ phalanx.NodeID, m barrier.Message) bool {
		if r, is := m.(barrier.Reached); is && from == on && r.Watch {
			watch = m
		}
		return false
	}
	c.call(on, barrier.Call{Kind: barrier.CallWatch, Key: key, Config: cfg})
	c.enter(c.managers()[0], cfg, "a")
	c.pass(200 * ms)
	c.call(on, barrier.Call{Kind: barrier.CallUnwatch, Key: key, Config: cfg})
	c.pass(200 * ms)
	c.step(c.managers()[0], barrier.Heard{From: on, Message: watch})
	c.settle()
	asked := 0
	c.lose = func(_, _ phalanx.NodeID, m barrier.Message) bool {
		if is[barrier.Question](m) {
			asked++
		}
		return false
	}
	c.pass(time.Second)
	if asked > 0 {
		t.Errorf("the callbacks are asked %d times", asked)
	}
}

// One who joins a barrier and goes before there is a Config takes back a watch that it does not have.
// That leaves nothing behind, whether there is a barrier or not.
func TestUnwatchWithoutConfig(t *testing.T) {
	for _, there := range []bool{true, false} {
		c := newCluster(t, 5)
		out := c.outsiders()
		other, on := out[0], out[1]
		if there {
			c.enter(other, barrier.Config{Max: 2}, "a")
			c.settle()
		}
		c.call(on, barrier.Call{Kind: barrier.CallUnwatch, Key: key})
		c.pass(20 * time.Second)
		b := c.enter(on, barrier.Config{Max: 2}, "b")
		if !there {
			c.enter(other, barrier.Config{Max: 2}, "a")
		}
		c.pass(2 * time.Second)
		c.want(b, barrier.Fire)
	}
}
