package barrier_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/barrier"
)

// firedAndForgotten has two on a node have the barrier fire, and waits until only that is known.
func (c *clusterOf) firedAndForgotten(on phalanx.NodeID) {
	c.t.Helper()
	a, b := c.enter(on, partial, "a"), c.enter(on, partial, "b")
	c.settle()
	c.want(a, barrier.Fire)
	c.want(b, barrier.Fire)
	c.jump(11 * time.Second)
	c.jump(time.Second)
}

// freshManager is a node that would be a manager of the barrier if it joined, and is none yet.
func (c *clusterOf) freshManager() phalanx.NodeID {
	for i := uint64(100); ; i++ {
		id := phalanx.MakeNodeID("fresh", i)
		v := c.view
		v.Members = append(slices.Clone(v.Members), id)
		if slices.Contains(barrier.ManagersOf(v, key.Name), id) {
			return id
		}
	}
}

// What fired long ago, and is among the older half of what is remembered, is told to new
// managers too.
func TestWhatFiredLongAgoIsTold(t *testing.T) {
	c := newCluster(t, 6)
	on := c.outsiders()[0]
	c.firedAndForgotten(on)
	c.jump(10*time.Minute + 20*time.Second)
	before, fresh := c.managers(), c.freshManager()
	c.add(fresh)
	c.pass(time.Second)
	for _, id := range before {
		c.kill(id)
		c.remove(id)
	}
	c.pass(time.Second)
	id := c.enter(on, partial, "late")
	c.pass(time.Second)
	c.want(id, barrier.Behind)
}

// The answer to an earlier part of what has fired, that comes once more, does not count for the
// part that is on its way, and lost.
func TestALateAnswerToAPartOfWhatHasFired(t *testing.T) {
	const n, part = 300, 500
	c := newCluster(t, 3)
	for i, id := range c.view.Members {
		c.cores[id] = barrier.NewCore(barrier.CoreConfig{Part: part, Attempts: uint64(i) << 20})
		c.learn(id)
		c.step(id, barrier.Leased{Until: 2 * time.Hour})
	}
	for i := range n {
		c.named(c.view.Members[0], fmt.Sprint("many/", i), barrier.Config{Max: 1}, "h")
		c.settle()
	}
	c.jump(11 * time.Second)
	c.jump(time.Second)
	sent, came := map[uint64]bool{}, map[uint64]bool{}
	last, lost := map[phalanx.NodeID]flying{}, map[string]bool{}
	c.lose = func(from, to phalanx.NodeID, m barrier.Message) bool {
		switch m := m.(type) {
		case barrier.OverKnown:
			last[to] = flying{from, to, m}
		case barrier.Over:
			part := fmt.Sprint(from, m.Num)
			earlier, ok := last[from]
			lose := ok && !lost[part] // each part but the first once
			lost[part] = true
			for _, crowd := range m.Crowds {
				for _, d := range crowd.Digests {
					sent[d] = true
					came[d] = came[d] || !lose
				}
			}
			if lose {
				c.queue = append(c.queue, earlier)
			}
			return lose
		}
		return false
	}
	c.add(phalanx.MakeNodeID("late", 100))
	c.pass(20 * time.Second)
	if len(sent) < n/2 || len(sent) != len(came) {
		t.Errorf("%d barriers were told of, %d heard of", len(sent), len(came))
	}
	for d := range sent {
		if !came[d] {
			t.Fatalf("%x is not told again", d)
		}
	}
}

// News of a barrier that comes when the last node has gone from which it was entered says
// nothing: its name is as new.
func TestLateNewsOfABarrierNobodyCanMean(t *testing.T) {
	c := newCluster(t, 8)
	on := c.outsiders()
	c.firedAndForgotten(on[0])
	fresh := c.freshManager()
	var late []flying
	c.lose = func(from, to phalanx.NodeID, m barrier.Message) bool {
		if is[barrier.Over](m) {
			late = append(late, flying{from, to, m})
		}
		return is[barrier.Over](m)
	}
	c.add(fresh)
	c.fail(on[0])
	if len(late) == 0 {
		t.Fatal("nothing is told")
	}
	c.queue = append(c.queue, late...)
	c.lose = nil
	c.settle()
	a := c.enter(on[1], partial, "a")
	c.pass(time.Second)
	c.waits(a)
	b := c.enter(on[2], partial, "b")
	c.pass(time.Second)
	c.want(a, barrier.Fire)
	c.want(b, barrier.Fire)
}

// A backup that says that a barrier has fired which nobody can mean any more has an old view: it
// is asked again.
func TestABackupThatKnowsOfABarrierNobodyCanMean(t *testing.T) {
	c := newCluster(t, 6)
	on, primary, backup := c.outsiders()[0], c.managers()[0], c.managers()[1]
	lied := false
	c.lose = func(_, to phalanx.NodeID, m barrier.Message) bool {
		r, ok := m.(barrier.Replicate)
		if !ok || to != backup || lied {
			return false
		}
		lied = true
		c.queue = append(c.queue, flying{backup, primary, barrier.Confirm{Key: r.Key, Term: r.Term, Seq: r.Seq, Fired: []phalanx.NodeID{"gone#1"}}})
		return true
	}
	a := c.enter(on, partial, "a")
	c.pass(2 * time.Second)
	c.waits(a)
	b := c.enter(on, partial, "b")
	c.pass(2 * time.Second)
	c.want(a, barrier.Fire)
	c.want(b, barrier.Fire)
	if !lied {
		t.Error("the backup was not asked")
	}
}

// A node that was removed, and is a member again, knows nothing of before: a barrier of then may
// have been removed meanwhile.
func TestAManagerThatIsBackKnowsNothing(t *testing.T) {
	c := newCluster(t, 6)
	on := c.outsiders()[0]
	c.firedAndForgotten(on)
	gone := c.managers()[1]
	core := c.cores[gone]
	c.kill(gone) // it hears nothing for a while
	c.remove(gone)
	c.pass(time.Second)
	c.removeBarrier(on)
	c.pass(time.Second)
	c.jump(11 * time.Second)
	c.jump(time.Second)
	back := c.freshManager()
	c.cores[back] = core
	c.view.Number++
	c.view.Members = append(slices.Clone(c.view.Members), back)
	for _, n := range c.view.Members {
		c.learn(n)
		c.step(n, barrier.Leased{Until: c.now + time.Hour})
	}
	c.pass(time.Second)
	a := c.enter(on, partial, "a")
	c.pass(2 * time.Second)
	c.waits(a)
	b := c.enter(on, partial, "b")
	c.pass(time.Second)
	c.want(a, barrier.Fire)
	c.want(b, barrier.Fire)
}

// A Config that a primary of an earlier term tells does not count.
func TestAConfigOfAnEarlierTerm(t *testing.T) {
	c := newCluster(t, 6)
	on := c.outsiders()
	c.fail(on[1])
	c.enter(on[0], barrier.Config{Max: 2}, "a") // so that a primary gathers in the new term
	c.pass(time.Second)
	k := barrier.Key{Name: key.Name, Generation: 7}
	primary := c.managers()[0]
	var asked barrier.WhoOpened
	c.lose = func(_, _ phalanx.NodeID, m barrier.Message) bool {
		if w, ok := m.(barrier.WhoOpened); ok {
			asked = w
		}
		return is[barrier.Opened](m)
	}
	id := c.call(on[0], barrier.Call{Kind: barrier.CallConfig, Key: k})
	c.settle()
	c.step(on[0], barrier.Heard{From: primary, Message: barrier.Opened{Key: k, Term: 1, Stamp: asked.Stamp, Config: barrier.Config{Max: 9}}})
	c.settle()
	if asked.Key != k {
		t.Fatal("nothing is asked")
	}
	c.waits(id)
}

// One that joins a barrier that has fired, and that nobody can mean any more, waits for the
// Config of the next one.
func TestAJoinerOfANameThatServesAgain(t *testing.T) {
	c := newCluster(t, 7)
	on := c.outsiders()
	c.firedAndForgotten(on[0])
	c.fail(on[0])
	id := c.join(on[1])
	c.pass(2 * time.Second)
	c.waits(id)
	c.enter(on[2], barrier.Config{Max: 5}, "a")
	c.settle()
	c.gives(id, barrier.Config{Max: 5})
}

// Of a double barrier those who leave wait for those who have still to come in by the throttle.
func TestDoubleWaitsForThoseWhoWaitForTheirTurn(t *testing.T) {
	c := newCluster(t, 7)
	on, cfg := c.outsiders(), double(2)
	cfg.Throttle = barrier.Throttle{Count: 1, Period: time.Second}
	a := c.enter(on[0], cfg, "h0")
	c.settle()
	b := c.enter(on[1], cfg, "h1")
	c.settle()
	c.want(a, barrier.Fire)
	c.waits(b)
	first := c.leave(on[0], cfg, "h0")
	c.settle()
	c.waits(first)
	c.pass(2 * time.Second)
	c.want(b, barrier.Fire)
	c.waits(first)
	second := c.leave(on[1], cfg, "h1")
	c.settle()
	c.want(first, barrier.Departed)
	c.want(second, barrier.Departed)
}

// reachedBy records what a node asks primaries for.
func (c *clusterOf) reachedBy(on phalanx.NodeID) *[]flying {
	var all []flying
	c.lose = func(from, to phalanx.NodeID, m barrier.Message) bool {
		if from == on && is[barrier.Reached](m) {
			all = append(all, flying{from, to, m})
		}
		return false
	}
	return &all
}

// What came before a barrier was removed does not come to one that goes by the same Config again,
// also if there was one with another Config in between.
func TestRemoveTwiceWithAnotherConfigBetween(t *testing.T) {
	c := newCluster(t, 6)
	on := c.outsiders()
	sent := c.reachedBy(on[0])
	c.enter(on[0], partial, "a")
	c.settle()
	late := slices.Clone(*sent)
	c.removeBarrier(on[1])
	c.settle()
	x := c.enter(on[1], barrier.Config{Max: 4}, "x")
	c.settle()
	c.waits(x)
	c.removeBarrier(on[1])
	c.settle()
	c.want(x, barrier.Deleted)
	b := c.enter(on[2], partial, "b")
	c.settle()
	c.queue = append(c.queue, late...)
	c.settle()
	c.waits(b)
}

// A late copy of a Remove does not remove the next barrier, which goes by another Config.
func TestALateRemoveOfABarrierWithAnotherConfig(t *testing.T) {
	c := newCluster(t, 6)
	on := c.outsiders()
	var late []flying
	c.lose = func(from, to phalanx.NodeID, m barrier.Message) bool {
		if is[barrier.Remove](m) {
			late = append(late, flying{from, to, m})
		}
		return false
	}
	c.enter(on[0], partial, "a")
	c.settle()
	c.removeBarrier(on[1])
	c.settle()
	x := c.enter(on[2], barrier.Config{Max: 4}, "x")
	c.settle()
	c.queue = append(c.queue, late...)
	c.settle()
	c.waits(x)
}

// A barrier that is opened after what had fired was removed is a new one also for who managed the
// name before, and does again.
func TestANewManagerOfWhatWasRemoved(t *testing.T) {
	c := newCluster(t, 6)
	on := c.outsiders()[0]
	c.firedAndForgotten(on)
	fresh := c.freshManager()
	c.add(fresh)
	c.pass(time.Second)
	c.removeBarrier(on)
	c.pass(time.Second)
	a := c.enter(on, partial, "a")
	c.pass(time.Second)
	c.waits(a)
	c.fail(fresh)
	c.pass(time.Second)
	c.waits(a)
	b := c.enter(on, partial, "b")
	c.pass(time.Second)
	c.want(a, barrier.Fire)
	c.want(b, barrier.Fire)
}

// One that waits, and does not hear that the barrier was removed, is told when it asks how it
// stands.
func TestOneThatDoesNotHearOfARemoval(t *testing.T) {
	c := newCluster(t, 6)
	on := c.outsiders()
	a := c.enter(on[0], partial, "a")
	c.settle()
	c.lose = func(_, to phalanx.NodeID, m barrier.Message) bool { return to == on[0] && is[barrier.Answers](m) }
	c.removeBarrier(on[1])
	c.settle()
	c.waits(a)
	c.lose = nil
	c.pass(3 * time.Second)
	c.want(a, barrier.Deleted)
}

// What an entry was told that passed a barrier before it was removed does not let it through the
// next one.
func TestAnOldVerdictIsNotOfTheNextBarrier(t *testing.T) {
	c := newCluster(t, 6)
	on := c.outsiders()
	cfg := barrier.Config{Max: 2}
	sent := c.reachedBy(on[0])
	c.enter(on[0], cfg, "a")
	c.enter(on[1], cfg, "b")
	c.settle()
	late := slices.Clone(*sent)
	c.removeBarrier(on[2])
	c.settle()
	a := c.enter(on[0], cfg, "a")
	c.settle()
	c.queue = append(c.queue, late...)
	c.settle()
	c.pass(3 * time.Second)
	c.waits(a)
}

// An entry that has come from two nodes does not come again by a late copy from either.
func TestRemoveAnEntryOfTwoNodes(t *testing.T) {
	for i := range 2 {
		c := newCluster(t, 6)
		on := c.outsiders()
		cfg := barrier.Config{Max: 2}
		sent := c.reachedBy(on[i])
		a, other := c.enter(on[0], cfg, "a"), c.enter(on[1], cfg, "a")
		c.settle()
		late := slices.Clone(*sent)
		c.removeBarrier(on[2])
		c.settle()
		c.want(a, barrier.Deleted)
		c.want(other, barrier.Deleted)
		b := c.enter(on[2], cfg, "b")
		c.settle()
		c.queue = append(c.queue, late...)
		c.settle()
		c.waits(b)
	}
}

// One that withdraws does not take what its earlier attempt was told, that the barrier was removed,
// for an answer.
func TestALateRemovalOfOneThatWithdraws(t *testing.T) {
	c := newCluster(t, 6)
	on := c.outsiders()
	var late []flying
	c.lose = func(from, to phalanx.NodeID, m barrier.Message) bool {
		if a, ok := m.(barrier.Answers); ok && to == on[0] && len(a.List) == 1 && a.List[0].Verdict == barrier.Deleted {
			late = append(late, flying{from, to, m})
		}
		return false
	}
	a := c.enter(on[0], partial, "a")
	c.settle()
	c.removeBarrier(on[1])
	c.settle()
	c.want(a, barrier.Deleted)
	again := c.enter(on[0], partial, "a")
	c.settle()
	c.lose = func(from, _ phalanx.NodeID, m barrier.Message) bool { return from == on[0] }
	c.step(on[0], barrier.GiveUp{ID: again})
	c.queue = append(c.queue, late...)
	c.settle()
	c.waits(again)
	c.lose = nil
	c.pass(500 * ms)
	if len(late) == 0 || len(c.given) != 1 || !c.given[0].Withdrawn {
		t.Errorf("%+v", c.given)
	}
}

// What an earlier call to leave was answered says nothing to a later one.
func TestALateAnswerToOneThatLeaves(t *testing.T) {
	c := newCluster(t, 7)
	on, cfg := c.outsiders(), double(2)
	var late []flying
	c.lose = func(from, to phalanx.NodeID, m barrier.Message) bool {
		if is[barrier.Answers](m) && to == on[0] {
			late = append(late, flying{from, to, m})
		}
		return false
	}
	early := c.leave(on[0], cfg, "h0")
	c.settle()
	c.want(early, barrier.Doubtful)
	early = c.enter(on[0], cfg, "h0")
	c.enter(on[1], cfg, "h1")
	c.settle()
	c.want(early, barrier.Fire)
	c.lose = func(from, _ phalanx.NodeID, m barrier.Message) bool { return from == on[0] }
	id := c.leave(on[0], cfg, "h0")
	c.settle()
	c.queue = append(c.queue, late[0])
	c.settle()
	c.waits(id)
}

// Those who leave do not say that managers that are gone may have counted them: the name's next
// barrier is not doubtful.
func TestTheManagersDieWhileOneLeaves(t *testing.T) {
	c := newCluster(t, 7)
	on, cfg := c.outsiders(), double(2)
	c.enter(on[0], cfg, "h0")
	c.enter(on[1], cfg, "h1")
	c.settle()
	a := c.leave(on[0], cfg, "h0")
	c.settle()
	c.waits(a)
	c.massacre()
	c.pass(2 * time.Second)
	c.want(a, barrier.Doubtful)
	b := c.enter(on[2], cfg, "next")
	c.pass(2 * time.Second)
	c.waits(b)
}

// Who had come before a barrier was removed is remembered for a minute, also if the next one lasts.
func TestMemoryOfWhoWasRemoved(t *testing.T) {
	c := newCluster(t, 3)
	on := c.view.Members[0]
	cfg := barrier.Config{Max: 5000}
	one := func(host string) int {
		c.enter(on, cfg, host)
		c.pass(50 * ms)
		return c.cores[c.managers()[0]].Memory()
	}
	few := one("first")
	for i := range 1000 {
		c.enter(on, cfg, fmt.Sprint("h", i))
	}
	c.settle()
	c.removeBarrier(on)
	c.pass(time.Second)
	one("next")
	for i := range 8 {
		c.jump(10 * time.Second)
		one(fmt.Sprint("next/", i))
	}
	if m := one("last"); m > few+20_000 {
		t.Errorf("%d bytes for ten, %d for one", m, few)
	}
}

// What a node was to be told is forgotten when it has gone.
func TestWhatIsOwedToTheDead(t *testing.T) {
	c := newCluster(t, 6)
	on := c.outsiders()[0]
	c.firedAndForgotten(on)
	primary := c.managers()[0]
	before := c.cores[primary].Memory()
	c.lose = func(_, _ phalanx.NodeID, m barrier.Message) bool { return is[barrier.Over](m) }
	fresh := c.freshManager()
	c.add(fresh)
	if m := c.cores[primary].Memory(); m == before {
		t.Error("nothing is owed")
	}
	c.lose = nil // the one that manages it again is told
	c.fail(fresh)
	if m := c.cores[primary].Memory(); m != before {
		t.Errorf("%d bytes, %d before", m, before)
	}
}

// What a state lists, its copy does not share, whatever is added to State.
func TestACloneSharesNoList(t *testing.T) {
	var s barrier.State
	var lists func(v reflect.Value, f func(reflect.Value))
	lists = func(v reflect.Value, f func(reflect.Value)) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				lists(v.Field(i), f)
			}
		case reflect.Slice:
			f(v)
			for i := range v.Len() {
				lists(v.Index(i), f)
			}
		}
	}
	lists(reflect.ValueOf(&s).Elem(), func(v reflect.Value) { v.Set(reflect.MakeSlice(v.Type(), 1, 1)) })
	at := map[uintptr]bool{}
	lists(reflect.ValueOf(s), func(v reflect.Value) { at[v.Pointer()] = true })
	n := 0
	lists(reflect.ValueOf(s.Clone()), func(v reflect.Value) {
		if n++; at[v.Pointer()] {
			t.Errorf("a %s is shared", v.Type())
		}
	})
	if n != len(at) {
		t.Errorf("%d lists of %d", n, len(at))
	}
}
