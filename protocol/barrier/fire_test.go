package barrier_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/barrier"
)

const ms = time.Millisecond

// drive is a barrier with a clock: entries come when they are said to, and time
// passes from one thing that is due to the next.
type drive struct {
	*barrier.Barrier
	effects []barrier.Effect
}

func newDrive(t *testing.T, cfg barrier.Config) *drive {
	t.Helper()
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	return &drive{Barrier: barrier.New(cfg)}
}

// until lets time pass.
func (d *drive) until(at time.Duration) {
	for due, ok := d.Due(); ok && due <= at; due, ok = d.Due() {
		d.apply(barrier.Op{Kind: barrier.OpAdvance, At: due})
	}
	d.apply(barrier.Op{Kind: barrier.OpAdvance, At: at})
}

func (d *drive) apply(op barrier.Op) []barrier.Effect {
	e := d.Apply(op)
	d.effects = append(d.effects, e...)
	return e
}

// enter has host n enter at a time.
func (d *drive) enter(n int, at time.Duration) []barrier.Effect {
	d.until(at)
	return append(d.apply(entering(n, at)), d.apply(barrier.Op{Kind: barrier.OpAdvance, At: at})...)
}

func host(n int) barrier.Entry { return barrier.Entry{Host: fmt.Sprintf("h%03d", n)} }

func entering(n int, at time.Duration) barrier.Op {
	return barrier.Op{Kind: barrier.OpEnter, At: at, Entry: host(n), Node: phalanx.NodeID("n" + host(n).Host), Attempt: 1}
}

// fired returns when the barrier fired, and with how many.
func (d *drive) fired() (at time.Duration, n int, why barrier.Cause) {
	return d.FiredAt, d.Fired, d.Cause
}

// The table of barrier specification 2.
func TestWhenItFires(t *testing.T) {
	every := func(n int, gap time.Duration) (at []time.Duration) {
		for i := range n {
			at = append(at, time.Duration(i)*gap)
		}
		return at
	}
	base := barrier.Config{Max: 10, Timeout: 5000 * ms, Percent: 50, MinWait: 1000 * ms}
	with := func(f func(*barrier.Config)) barrier.Config { c := base; f(&c); return c }
	for _, c := range []struct {
		name string
		cfg  barrier.Config
		at   []time.Duration
		want time.Duration
		n    int
		why  barrier.Cause
	}{
		{"10 entries, 0..900", base, every(10, 100*ms), 900 * ms, 10, barrier.ByMax},
		{"5 entries by 400", base, every(5, 100*ms), 1000 * ms, 5, barrier.ByPercent},
		{"5th entry at 1500", base, append(every(4, 100*ms), 1500*ms), 1500 * ms, 5, barrier.ByPercent},
		{"4 entries only", base, every(4, 100*ms), 5000 * ms, 4, barrier.ByTimeout},
		{"minWait 6000, 9 entries", with(func(c *barrier.Config) { c.MinWait = 6000 * ms }), every(9, 100*ms), 5000 * ms, 9, barrier.ByTimeout},
		{"percent 33 and 3", with(func(c *barrier.Config) { c.Percent = 33 }), every(3, 100*ms), 5000 * ms, 3, barrier.ByTimeout},
		{"percent 33 needs 4", with(func(c *barrier.Config) { c.Percent = 33 }), every(4, 100*ms), 1000 * ms, 4, barrier.ByPercent},
		{"minWait without percent does nothing", barrier.Config{Max: 3, MinWait: 1000 * ms}, every(3, 100*ms), 200 * ms, 3, barrier.ByMax},
		{"percent without minWait", barrier.Config{Max: 4, Percent: 50}, every(4, 100*ms), 100 * ms, 2, barrier.ByPercent},
		{"one alone", barrier.Config{Max: 1}, every(1, 0), 0, 1, barrier.ByMax},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDrive(t, c.cfg)
			for i, at := range c.at {
				d.enter(i, at)
			}
			d.until(20 * time.Second)
			if at, n, why := d.fired(); at != c.want || n != c.n || why != c.why {
				t.Errorf("fired at %v with %d: %s; want %v with %d: %s", at, n, why, c.want, c.n, c.why)
			}
		})
	}
	t.Run("strict, and one is missing", func(t *testing.T) {
		d := newDrive(t, barrier.Config{Max: 3})
		d.enter(0, 0)
		d.enter(1, 0)
		d.until(time.Hour)
		if _, _, why := d.fired(); why != barrier.NotFired {
			t.Errorf("fired: %s", why)
		}
	})
}

// verdicts returns what an entry was answered, in order.
func (d *drive) verdicts(e barrier.Entry) []barrier.Verdict {
	var all []barrier.Verdict
	for _, f := range d.effects {
		if a, ok := f.(barrier.Answer); ok && a.Entry == e {
			all = append(all, a.Verdict)
		}
	}
	return all
}

func wantVerdicts(t *testing.T, d *drive, e barrier.Entry, want ...barrier.Verdict) {
	t.Helper()
	if got := d.verdicts(e); !slices.Equal(got, want) {
		t.Errorf("%s was answered %v, want %v", e, got, want)
	}
}

// Entering is idempotent: a label counts once, and every caller is answered.
func TestALabelCountsOnce(t *testing.T) {
	d := newDrive(t, barrier.Config{Max: 2})
	task := func(host, label string) barrier.Op {
		return barrier.Op{Kind: barrier.OpEnter, Entry: barrier.Entry{Host: host, Label: label}, Node: phalanx.NodeID(host), Attempt: 1}
	}
	d.apply(task("a", "t1"))
	d.apply(task("b", "t1")) // a copy of the task
	d.apply(task("a", "t1")) // repeated
	if _, _, why := d.fired(); why != barrier.NotFired || d.Units != 1 {
		t.Fatalf("%d units, %s", d.Units, why)
	}
	d.apply(task("a", "t2"))
	if _, n, _ := d.fired(); n != 2 {
		t.Fatalf("fired with %d", n)
	}
	wantVerdicts(t, d, barrier.Entry{Host: "a", Label: "t1"}, barrier.Registered, barrier.Registered, barrier.Fire)
	wantVerdicts(t, d, barrier.Entry{Host: "b", Label: "t1"}, barrier.Registered, barrier.Fire)
	wantVerdicts(t, d, barrier.Entry{Host: "a", Label: "t2"}, barrier.Registered, barrier.Fire)
	if p := d.Passed(); !slices.Equal(p["a"], []string{"t1", "t2"}) || !slices.Equal(p["b"], []string{"t1"}) || len(p) != 2 {
		t.Errorf("passed: %v", p)
	}
}

// Who comes late goes on, or is told to catch up; who was there gets the same
// answer again.
func TestLate(t *testing.T) {
	for mode, want := range map[barrier.LateMode]barrier.Verdict{barrier.PassThrough: barrier.LateFire, barrier.CatchUp: barrier.Behind} {
		d := newDrive(t, barrier.Config{Max: 2, Timeout: 10 * ms, Late: mode})
		d.enter(0, 0)
		d.enter(1, 20*ms)
		d.enter(0, 30*ms)
		d.enter(1, 30*ms)
		wantVerdicts(t, d, host(0), barrier.Registered, barrier.Fire, barrier.Fire)
		wantVerdicts(t, d, host(1), want, want)
		if _, late := d.Passed()["h001"]; late != (mode == barrier.PassThrough) {
			t.Errorf("%s: passed: %v", mode, d.Passed())
		}
	}
}

// A throttle releases so many per period, the first ones first, from when the
// barrier fires; a late one waits for its turn.
func TestThrottle(t *testing.T) {
	for name, th := range map[string]barrier.Throttle{"count": {Count: 2, Period: 100 * ms}, "percent": {Percent: 33, Period: 100 * ms}} {
		t.Run(name, func(t *testing.T) {
			d := newDrive(t, barrier.Config{Max: 5, Throttle: th})
			through := func() (n int) {
				for _, e := range d.Entrances {
					if e.Phase == barrier.Through {
						n++
					}
				}
				return n
			}
			for i := range 5 {
				d.enter(i, time.Duration(i)*ms)
			}
			d.enter(5, 10*ms) // late
			for at, want := range []int{2, 4, 6, 6} {
				d.until(4*ms + time.Duration(at)*100*ms + 10*ms)
				if n := through(); n != want {
					t.Errorf("after %d periods %d are through, want %d", at, n, want)
				}
			}
			wantVerdicts(t, d, host(0), barrier.Registered, barrier.Fire)
			wantVerdicts(t, d, host(5), barrier.Registered, barrier.LateFire)
		})
	}
}

// A callback may veto the number and the percentage, and not the timeout; it may
// fire before; and no more time passes between two calls than it says.
func TestCallback(t *testing.T) {
	type call struct {
		at    time.Duration
		entry string
		would bool
	}
	run := func(t *testing.T, cfg barrier.Config, entries []time.Duration, say func(n int) bool) ([]call, *drive) {
		d := newDrive(t, cfg)
		d.apply(barrier.Op{Kind: barrier.OpWatch, Node: "n"})
		var calls []call
		answer := func(effects []barrier.Effect, at time.Duration) {
			for _, e := range effects {
				if a, ok := e.(barrier.Asked); ok {
					calls = append(calls, call{at, a.Entry.Host, a.WouldRelease})
					d.apply(barrier.Op{Kind: barrier.OpVerdict, At: at, Ask: a.Ask, Yes: say(len(calls))})
				}
			}
		}
		pass := func(to time.Duration) {
			for due, ok := d.Due(); ok && due <= to; due, ok = d.Due() {
				answer(d.apply(barrier.Op{Kind: barrier.OpAdvance, At: due}), due)
			}
		}
		for i, at := range entries {
			pass(at)
			answer(d.apply(entering(i, at)), at)
		}
		pass(time.Minute)
		return calls, d
	}
	t.Run("veto of all, not of the timeout", func(t *testing.T) {
		calls, d := run(t, barrier.Config{Max: 2, Timeout: 500 * ms, Callback: true}, []time.Duration{0, 100 * ms}, func(int) bool { return false })
		if at, n, why := d.fired(); at != 500*ms || n != 2 || why != barrier.ByTimeout {
			t.Errorf("fired at %v with %d: %s", at, n, why)
		}
		if want := []call{{0, "h000", false}, {100 * ms, "h001", true}}; !slices.Equal(calls, want) {
			t.Errorf("calls %v, want %v", calls, want)
		}
	})
	t.Run("it fires before", func(t *testing.T) {
		_, d := run(t, barrier.Config{Max: 9, Timeout: time.Second, Callback: true}, []time.Duration{0, 1 * ms, 2 * ms, 3 * ms}, func(n int) bool { return n == 3 })
		if at, n, why := d.fired(); at != 2*ms || n != 3 || why != barrier.ByCallback {
			t.Errorf("fired at %v with %d: %s", at, n, why)
		}
	})
	t.Run("gap", func(t *testing.T) {
		calls, d := run(t, barrier.Config{Max: 2, Callback: true, CallbackTimeout: 100 * ms}, []time.Duration{0, 250 * ms}, func(n int) bool { return n == 5 })
		want := []call{{0, "h000", false}, {100 * ms, "", false}, {200 * ms, "", false}, {250 * ms, "h001", true}, {350 * ms, "", true}}
		if !slices.Equal(calls, want) {
			t.Errorf("calls %v, want %v", calls, want)
		}
		if at, _, why := d.fired(); at != 350*ms || why != barrier.ByMax {
			t.Errorf("fired at %v: %s", at, why)
		}
	})
	t.Run("percentage is asked for when its time has come", func(t *testing.T) {
		calls, d := run(t, barrier.Config{Max: 4, Timeout: time.Second, Percent: 50, MinWait: 300 * ms, Callback: true}, []time.Duration{0, 100 * ms}, func(n int) bool { return n == 3 })
		if want := (call{300 * ms, "", true}); len(calls) != 3 || calls[2] != want {
			t.Errorf("calls %v", calls)
		}
		if at, _, why := d.fired(); at != 300*ms || why != barrier.ByPercent {
			t.Errorf("fired at %v: %s", at, why)
		}
	})
}

// Nobody answers: then it is as if there were no callback.
func TestACallbackThatDoesNotAnswer(t *testing.T) {
	d := newDrive(t, barrier.Config{Max: 2, Timeout: time.Minute, Callback: true})
	d.enter(0, 0)
	d.enter(1, 10*ms)
	d.until(2 * time.Second)
	if at, n, why := d.fired(); at != time.Second+10*ms || n != 2 || why != barrier.ByMax {
		t.Errorf("fired at %v with %d: %s", at, n, why)
	}
}

// Who is named in Expect and has not come is absent, whatever else has.
func TestAbsent(t *testing.T) {
	d := newDrive(t, barrier.Config{Max: 3, Timeout: 10 * ms, Expect: []string{"a", "b", "c"}})
	d.apply(barrier.Op{Kind: barrier.OpEnter, Entry: barrier.Entry{Host: "b"}, Node: "n"})
	d.until(time.Second)
	for _, e := range d.effects {
		if h, ok := e.(barrier.Happened); ok && h.What == barrier.HasFired {
			if !slices.Equal(h.Absent, []string{"a", "c"}) || h.N != 1 || h.Missing != 2 || h.Cause != barrier.ByTimeout {
				t.Errorf("%+v", h)
			}
			return
		}
	}
	t.Error("it has not fired")
}

// Those whose nodes are gone when the barrier fires are said to be lost: they count,
// and nobody can tell them.
func TestWhoIsGoneIsLost(t *testing.T) {
	d := newDrive(t, barrier.Config{Max: 2})
	d.enter(0, 0)
	d.apply(barrier.Op{Kind: barrier.OpGone, Node: "nh000"})
	for _, e := range d.enter(1, ms) {
		if h, ok := e.(barrier.Happened); ok && h.What == barrier.HasFired {
			if !slices.Equal(h.Lost, []string{"h000"}) {
				t.Errorf("%+v", h)
			}
			return
		}
	}
	t.Error("it has not fired")
}

// A withdrawal that overtakes its entry undoes it, and one at one of two nodes does not.
func TestWithdrawalsOfAnEntry(t *testing.T) {
	d := newDrive(t, barrier.Config{Max: 1})
	e := entering(1, 0)
	d.apply(barrier.Op{Kind: barrier.OpRelease, Entry: e.Entry, Node: e.Node, Attempt: 1})
	d.apply(e)
	if _, _, why := d.fired(); why != barrier.NotFired {
		t.Error("it has fired with an entry that was withdrawn before")
	}

	d = newDrive(t, barrier.Config{Max: 2})
	here, there := entering(1, 0), entering(1, 0)
	there.Node = "another"
	d.apply(here)
	d.apply(there)
	d.apply(barrier.Op{Kind: barrier.OpRelease, Entry: here.Entry, Node: here.Node, Attempt: 1})
	d.enter(2, 0)
	if _, n, why := d.fired(); why != barrier.ByMax || n != 2 {
		t.Errorf("it has fired with %d: %v, although the entry waits at another node", n, why)
	}
}
