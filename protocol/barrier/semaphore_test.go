package barrier_test

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/barrier"
)

func leaving(n int, attempt uint64, at time.Duration) barrier.Op {
	return barrier.Op{Kind: barrier.OpRelease, At: at, Entry: host(n), Node: phalanx.NodeID("n" + host(n).Host), Attempt: attempt}
}

func TestSemaphore(t *testing.T) {
	d := newDrive(t, barrier.Config{Semaphore: barrier.Semaphore{Count: 2, Timeout: 100 * ms}})
	for i := range 5 {
		d.enter(i, 0)
	}
	if want := []barrier.Entry{host(0), host(1)}; !slices.Equal(d.Holders, want) {
		t.Fatalf("holders %v", d.Holders)
	}
	d.apply(leaving(1, 1, 10*ms))
	d.apply(leaving(1, 1, 11*ms)) // repeated
	if want := []barrier.Entry{host(0), host(2)}; !slices.Equal(d.Holders, want) {
		t.Fatalf("holders %v", d.Holders)
	}
	d.until(100 * ms) // the first one's time is over
	if want := []barrier.Entry{host(2), host(3)}; !slices.Equal(d.Holders, want) {
		t.Fatalf("holders %v", d.Holders)
	}
	d.apply(leaving(0, 1, 105*ms)) // frees nothing
	if want := []barrier.Entry{host(2), host(3)}; !slices.Equal(d.Holders, want) {
		t.Fatalf("holders %v", d.Holders)
	}
	wantVerdicts(t, d, host(0), barrier.Registered, barrier.Fire, barrier.TimedOut, barrier.TimedOut)
	d.apply(barrier.Op{Kind: barrier.OpGone, At: 106 * ms, Node: "nh002"}) // its node dies
	if want := []barrier.Entry{host(3), host(4)}; !slices.Equal(d.Holders, want) {
		t.Fatalf("holders %v", d.Holders)
	}
	again := entering(1, 107*ms)
	again.Attempt = 2
	d.apply(again)
	d.apply(leaving(1, 2, 108*ms)) // it waits no more
	d.apply(leaving(3, 1, 109*ms))
	if want := []barrier.Entry{host(4)}; !slices.Equal(d.Holders, want) || len(d.Queue) != 0 {
		t.Fatalf("holders %v, queue %v", d.Holders, d.Queue)
	}
}

// A release that overtakes its entry keeps it from being let in later.
func TestAReleaseThatOvertakes(t *testing.T) {
	d := newDrive(t, barrier.Config{Semaphore: barrier.Semaphore{Count: 1}})
	d.apply(leaving(0, 1, 0))
	d.apply(entering(0, ms))
	if len(d.Holders) != 0 {
		t.Errorf("holders %v", d.Holders)
	}
	wantVerdicts(t, d, host(0), barrier.Released, barrier.Released)
}

// What a callback says of a release counts, within the semaphore's count.
func TestReleaseCallback(t *testing.T) {
	d := newDrive(t, barrier.Config{Semaphore: barrier.Semaphore{Count: 3, Callback: true}})
	d.apply(barrier.Op{Kind: barrier.OpWatch, Node: "n"})
	for i := range 10 {
		d.enter(i, 0)
	}
	left := 0
	for _, c := range []struct{ say, holders int }{{0, 2}, {0, 1}, {0, 1}, {2, 2}, {1, 2}, {math.MaxInt, 3}, {math.MinInt, 2}} {
		asked := 0
		for _, e := range d.apply(leaving(left, 1, ms)) {
			if a, ok := e.(barrier.Asked); ok && a.Releasing && a.Suggest == 1 && a.Entry == host(left) {
				asked++
				d.apply(barrier.Op{Kind: barrier.OpVerdict, At: ms, Ask: a.Ask, N: c.say})
			}
		}
		if left++; asked != 1 || len(d.Holders) != c.holders {
			t.Errorf("%d said: %d asked, %d hold, want %d", c.say, asked, len(d.Holders), c.holders)
		}
	}
}

// The vectors of barrier specification 6.
func TestAdaptiveVectors(t *testing.T) {
	for x, want := range map[time.Duration]int{160: 14, 150: 15, 120: 15, 110: 16, 100: 16} {
		a := barrier.Adaptive{Level: 1 << 30}
		for range 30 {
			a.Done(100*ms, 1<<30)
		}
		a.Level, a.Since = 15, 0
		for range 15 {
			a.Done(x*ms, 1000)
		}
		if a.Level != want {
			t.Errorf("X = %d: %d, want %d", x, a.Level, want)
		}
	}
	a := barrier.Adaptive{Level: 4}
	var changes []int // completion, level
	for i := range 36 {
		took := 100 * ms
		if i >= 15 {
			took = 112 * ms
		}
		if i >= 22 {
			took = 170 * ms
		}
		before := a.Since
		a.Done(took, 1000)
		if a.Since <= before && (a.Since == 0) {
			changes = append(changes, i+1, a.Level)
		}
	}
	if want := []int{4, 5, 9, 6, 15, 7, 22, 7, 29, 6, 35, 5}; !slices.Equal(changes, want) {
		t.Errorf("completion and level %v, want %v", changes, want)
	}
}

// The number never leaves 1 to the cap.
func TestAdaptiveStaysInItsBounds(t *testing.T) {
	a := barrier.Adaptive{Level: 2}
	for i := range 5000 {
		took := 10 * ms
		if i > 2000 {
			took = time.Duration(i) * ms
		}
		a.Done(took, 8)
		if a.Level < 1 || a.Level > 8 {
			t.Fatalf("level %d", a.Level)
		}
	}
}

// server is a server that thrashes: up to its capacity, downloads take the same
// time; beyond it, all get slower, and more than in proportion.
func completion(t *testing.T, s barrier.Semaphore, hosts int) time.Duration {
	t.Helper()
	const capacity = 25
	d := newDrive(t, barrier.Config{Semaphore: s})
	for i := range hosts {
		d.apply(entering(i, 0))
	}
	now, left := time.Duration(0), map[barrier.Entry]float64{} // work that each has left, in seconds alone
	for done := 0; done < hosts; {
		for _, h := range d.Holders {
			if _, ok := left[h]; !ok {
				left[h] = 10
			}
		}
		over := max(1, float64(len(left))/capacity)
		speed := 1 / (over * over) // of each
		least := 1e18
		for _, w := range left {
			least = min(least, w)
		}
		now += time.Duration(least / speed * float64(time.Second))
		for _, h := range slices.SortedFunc(maps.Keys(left), func(a, b barrier.Entry) int { return cmp.Compare(a.Host, b.Host) }) {
			if left[h] -= least; left[h] < 1e-9 {
				delete(left, h)
				d.apply(barrier.Op{Kind: barrier.OpRelease, At: now, Entry: h, Attempt: 1})
				done++
			}
		}
	}
	return now
}

// On a server that thrashes, the adaptive semaphore finds a number between too few
// and too many.
func TestAdaptiveBeatsTooFewAndTooMany(t *testing.T) {
	adaptive := completion(t, barrier.Semaphore{Count: 4, Adaptive: true, Cap: 200}, 1000)
	few, many, best := completion(t, barrier.Semaphore{Count: 10}, 1000), completion(t, barrier.Semaphore{Count: 100}, 1000), completion(t, barrier.Semaphore{Count: 25}, 1000)
	if adaptive > few || adaptive > many || float64(adaptive) > 1.4*float64(best) {
		t.Errorf("adaptive %v; 10: %v, 25: %v, 100: %v", adaptive, few, best, many)
	}
}

// Whatever comes in whatever order: no more hold it than its count, and who has
// left or timed out holds nothing.
func TestSemaphoreAgainstAnything(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		d := newDrive(t, barrier.Config{Semaphore: barrier.Semaphore{Count: 1 + r.IntN(3), Timeout: 50 * ms}})
		now, attempts := time.Duration(0), map[int]uint64{}
		for range 300 {
			now += time.Duration(r.IntN(20)) * ms
			n := r.IntN(8)
			switch r.IntN(4) {
			case 0:
				attempts[n]++
				fallthrough
			case 1:
				op := entering(n, now)
				op.Attempt = attempts[n]
				d.apply(op)
			case 2:
				d.apply(leaving(n, attempts[n], now))
			case 3:
				d.until(now)
			}
			if len(d.Holders) > d.Config().Semaphore.Count {
				t.Fatalf("seed %d: %d hold", seed, len(d.Holders))
			}
			for _, e := range d.Entrances {
				if slices.Contains(d.Holders, e.Entry) != (e.Phase == barrier.Through) || slices.Contains(d.Queue, e.Entry) != (e.Phase == barrier.Waiting) {
					t.Fatalf("seed %d: %+v, holders %v, queue %v", seed, e, d.Holders, d.Queue)
				}
			}
			if len(d.Queue) > 0 && len(d.Holders) < d.Config().Semaphore.Count {
				t.Fatalf("seed %d: %v wait, and %v hold", seed, d.Queue, d.Holders)
			}
		}
	}
}

// An entry that waits for a semaphore at two nodes waits at the one where it came last. Both
// took turns to ask with greater attempts for as long as they waited.
func TestAnEntryWaitsAtOneNode(t *testing.T) {
	c := newCluster(t, 6)
	on := c.outsiders()
	sem := barrier.Config{Semaphore: barrier.Semaphore{Count: 1}}
	holder := c.enter(on[0], sem, "holder")
	c.settle()
	c.want(holder, barrier.Fire)
	first := c.enter(on[1], sem, "e")
	c.pass(10 * ms)
	sent := 0
	c.lose = func(phalanx.NodeID, phalanx.NodeID, barrier.Message) bool { sent++; return sent > 1000 }
	second := c.enter(on[2], sem, "e")
	c.pass(10 * ms)
	if sent > 50 {
		t.Fatalf("%d messages are sent within 10 ms", sent)
	}
	if d := c.done[first]; d.Outcome != barrier.HeldAlready {
		t.Errorf("where it came first it ends with %+v", d)
	}
	c.call(on[0], barrier.Call{Kind: barrier.CallRelease, Key: key, Entry: barrier.Entry{Host: "holder"}})
	c.pass(10 * ms)
	c.want(second, barrier.Fire)
}
