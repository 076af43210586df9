package barrier_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/barrier"
)

// A Core that follows a panic hears of the holdings before the calls of the same entries, and of callers
// that have given up when it knows all calls.
func TestAgain(t *testing.T) {
	var h barrier.Holdings
	one := barrier.Config{Semaphore: barrier.Semaphore{Count: 1}}
	call := func(id uint64, kind barrier.CallKind, cfg barrier.Config, host string) barrier.Call {
		return barrier.Call{ID: id, Kind: kind, Key: key, Config: cfg, Entry: barrier.Entry{Host: host}}
	}
	for i, host := range []string{"c", "b", "a"} {
		if !h.Done(call(1, barrier.CallEnter, one, host), barrier.Done{Verdict: barrier.Fire, Attempt: uint64(i + 1)}, i) {
			t.Errorf("%s does not hold the semaphore", host)
		}
	}
	if h.Done(call(1, barrier.CallEnter, barrier.Config{Max: 1}, "d"), barrier.Done{Verdict: barrier.Fire}, nil) ||
		h.Done(call(1, barrier.CallEnter, one, "e"), barrier.Done{Verdict: barrier.Fire, Outcome: barrier.HeldAlready}, nil) ||
		h.Done(call(1, barrier.CallRelease, one, "f"), barrier.Done{Verdict: barrier.Released}, nil) {
		t.Error("an entry holds what it does not hold")
	}
	h.Asked(call(2, barrier.CallRelease, one, "c"))
	h.Lost(barrier.Lost{Key: key, Entry: barrier.Entry{Host: "b"}})
	h.GivenUp(call(3, barrier.CallEnter, barrier.Config{Max: 2}, "g"), barrier.GivenUp{Frees: 7})
	h.GivenUp(call(3, barrier.CallEnter, barrier.Config{Max: 2}, "h"), barrier.GivenUp{Withdrawn: true})
	var got []string
	for _, e := range h.Again([]barrier.Call{call(20, barrier.CallWatch, one, "")}, []barrier.Open{
		{Call: call(11, barrier.CallEnter, one, "g")}, {Call: call(10, barrier.CallRelease, one, "c"), GaveUp: true},
	}) {
		switch e := e.(type) {
		case barrier.Call:
			got = append(got, fmt.Sprintf("call %d, kind %d of %s, attempt %d, again %v", e.ID, e.Kind, e.Entry.Host, e.Attempt, e.Again))
		case barrier.GiveUp:
			got = append(got, fmt.Sprintf("give up %d", e.ID))
		}
	}
	want := []string{"call 0, kind 0 of a, attempt 3, again false", "call 0, kind 3 of c, attempt 1, again false", "call 0, kind 3 of g, attempt 7, again false",
		"call 20, kind 2 of , attempt 0, again false", "call 10, kind 1 of c, attempt 0, again true", "call 11, kind 0 of g, attempt 0, again true", "give up 10"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, host := range []string{"c", "g"} {
		h.Freed(barrier.Freed{Key: key, Entry: barrier.Entry{Host: host}})
	}
	if a, ok := h.Holder(key, barrier.Entry{Host: "a"}); !ok || a.By != 2 || !h.Some() || len(h.Again(nil, nil)) != 1 {
		t.Errorf("%+v, %v", a, ok)
	}
}

// A withdrawal that its caller does not wait for any more goes on after a panic of the node's actor, and
// ends.
func TestAWithdrawalGoesOnAfterAPanic(t *testing.T) {
	for _, again := range []bool{false, true} {
		c := newCluster(t, 4)
		cfg, on := barrier.Config{Max: 2}, c.bystander()
		a := c.enter(on, cfg, "a")
		c.settle()
		c.lose = func(from, to phalanx.NodeID, _ barrier.Message) bool { return from == on || to == on }
		c.given = nil
		c.step(on, barrier.GiveUp{ID: a})
		c.pass(2 * time.Second)
		if len(c.given) != 1 || c.given[0].Withdrawn || c.given[0].Frees == 0 {
			t.Fatalf("%+v", c.given)
		}
		var h barrier.Holdings
		h.GivenUp(barrier.Call{ID: a, Kind: barrier.CallEnter, Key: key, Config: cfg, Entry: barrier.Entry{Host: "a"}}, c.given[0])
		c.cores[on] = barrier.NewCore(barrier.CoreConfig{Attempts: 1 << 40})
		for _, e := range h.Again(nil, nil) {
			c.step(on, e)
		}
		if again { // another caller enters it meanwhile
			a = c.enter(on, cfg, "a")
		}
		c.learn(on)
		c.step(on, barrier.Leased{Until: time.Hour})
		c.lose = nil
		c.pass(3 * time.Second)
		if freed := slices.ContainsFunc(c.said[on], func(o barrier.Output) bool { _, is := o.(barrier.Freed); return is }); !freed {
			t.Error("the withdrawal does not end")
		}
		b := c.enter(c.managers()[0], cfg, "b")
		c.pass(time.Second)
		if again {
			c.want(a, barrier.Fire)
			c.want(b, barrier.Fire)
		} else {
			c.waits(b)
		}
	}
}
