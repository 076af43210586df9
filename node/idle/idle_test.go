package idle

import (
	"slices"
	"testing"
	"time"
)

const ms = time.Millisecond

// The gate keeps events without a lease, in their order, until there is one.
func TestWhatComesWaitsForALease(t *testing.T) {
	var g Gate[int]
	if g.Open(0) || !g.Keep(1, 10) || g.Open(50*ms) || !g.Keep(2, 10) || g.Bytes() != 20 {
		t.Fatal("events go on without a lease")
	}
	if at, ok := g.Due(); !ok || at != HoldFor {
		t.Fatalf("events go on at %v, %v", at, ok)
	}
	g.Leased(300 * ms)
	if !g.Open(60*ms) || !slices.Equal(g.All(), []int{1, 2}) || g.Bytes() != 0 {
		t.Fatal("a lease does not let events go on")
	}
	if _, ok := g.Due(); ok {
		t.Fatal("something is due though nothing is kept")
	}
	if g.Open(300 * ms) {
		t.Fatal("an event goes on after the end of the lease")
	}
}

// If a node cannot get a lease its shards do without, until there was one.
func TestNothingWaitsForLong(t *testing.T) {
	var g Gate[int]
	g.Leased(ms)
	if g.Open(ms) || g.Open(200*ms) || !g.Open(201*ms) || !g.Open(time.Minute) {
		t.Fatal("events do not wait for 200 ms")
	}
	g.Leased(time.Minute + ms)
	if !g.Open(time.Minute) || g.Open(time.Minute+ms) || g.Open(time.Minute+200*ms) || !g.Open(time.Minute+201*ms) {
		t.Fatal("events do not wait again after a lease")
	}
}

func TestNotTooMuchWaits(t *testing.T) {
	var g Gate[int]
	for i := range mostHeld {
		if !g.Keep(i, 1) {
			t.Fatalf("event %d is too much", i)
		}
	}
	if g.Keep(0, 0) {
		t.Error("the gate keeps more than a thousand events")
	}
	g.All()
	if !g.Keep(1, mostBytes) || g.Keep(2, 1) {
		t.Error("the gate does not bound the bytes")
	}
}

// The view hears four times before it lets a lease end, and soon while there is none.
func TestWants(t *testing.T) {
	const idle = 2 * time.Second
	for _, c := range []struct {
		now, last, until time.Duration
		want             bool
	}{
		{10 * ms, 0, time.Second, true},
		{500 * ms, ms, time.Second, false},
		{501 * ms, ms, time.Second, true},
		{time.Second, 998 * ms, time.Second, false},
		{time.Second, 995 * ms, time.Second, true},
		{5 * ms, ms, 0, false},
		{6 * ms, ms, 0, true},
	} {
		if got := Wants(c.now, c.last, c.until, idle); got != c.want {
			t.Errorf("at %v, told at %v, leased until %v: %v", c.now, c.last, c.until, got)
		}
	}
}
