package pace

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// street drives a pace with receivers that take bytes at given rates.
type street struct {
	pace *Pace
	now  time.Duration
	all  map[phalanx.NodeID]*taker
}

type taker struct {
	flow Flow
	rate int64 // bytes per second
	s    Sample
}

func (w *street) begin(n phalanx.NodeID, rate int64) {
	if w.all == nil {
		w.all = map[phalanx.NodeID]*taker{}
	}
	k := &taker{flow: Flow{To: n}, rate: rate}
	if w.all[n] != nil { // a second object
		n += "'"
	}
	w.all[n] = k
	w.pace.Add(&k.flow, phalanx.UnknownSize, w.now, k.s)
}

func (w *street) end(n phalanx.NodeID) {
	w.pace.Remove(&w.all[n].flow, w.now, w.all[n].s)
	delete(w.all, n)
}

// pass lets time pass in steps and returns the receivers that were found slow, in order.
func (w *street) pass(d, step time.Duration) (slow []phalanx.NodeID) {
	for end := w.now + d; w.now < end; {
		w.now += step
		for _, k := range w.all {
			k.s.Sent += int64(float64(k.rate) * step.Seconds())
		}
		for _, f := range w.pace.Observe(w.now, func(f *Flow) Sample {
			for _, k := range w.all {
				if &k.flow == f {
					return k.s
				}
			}
			return Sample{}
		}) {
			slow = append(slow, f.To)
		}
	}
	return slow
}

const gb = int64(1e9)

func TestSlowReceivers(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(w *street) []phalanx.NodeID
		want []phalanx.NodeID
	}{
		"alone, with nothing to compare": {func(w *street) []phalanx.NodeID {
			w.begin("r", gb/100)
			return w.pass(time.Second, Default.Every)
		}, nil},
		"slow beside a fast one, told once a second": {func(w *street) []phalanx.NodeID {
			w.begin("f", gb)
			w.begin("r", gb/100)
			return w.pass(Default.Repeat+2*Default.Window, Default.Every)
		}, []phalanx.NodeID{"r", "r"}},
		"slow after a fast one that was looked at too late": {func(w *street) []phalanx.NodeID {
			w.begin("f", gb)
			w.pass(4*Default.Every, 2*Default.Every+time.Millisecond)
			w.end("f")
			w.begin("r", gb/100)
			return w.pass(Default.Repeat, Default.Every)
		}, []phalanx.NodeID{"r"}},
		"slow after a fast one": {func(w *street) []phalanx.NodeID {
			w.begin("f", gb)
			w.pass(200*time.Millisecond, Default.Every)
			w.end("f")
			w.begin("r", gb/5)
			return w.pass(100*time.Millisecond, Default.Every)
		}, []phalanx.NodeID{"r"}},
		"slow after a short fast one": {func(w *street) []phalanx.NodeID {
			w.begin("f", gb)
			w.now += 50 * time.Millisecond
			w.all["f"].s.Sent += gb / 20
			w.end("f")
			w.begin("r", gb/5)
			return w.pass(100*time.Millisecond, Default.Every)
		}, []phalanx.NodeID{"r"}},
		"a few bytes at once tell nothing": {func(w *street) []phalanx.NodeID {
			w.begin("f", gb)
			w.now += time.Millisecond
			w.all["f"].s.Sent += 4 << 20
			w.end("f")
			w.begin("r", gb/5)
			return w.pass(time.Second, Default.Every)
		}, nil},
		"nor do a few bytes at the beginning": {func(w *street) []phalanx.NodeID {
			w.begin("f", gb/10)
			w.now += 50 * time.Millisecond
			w.all["f"].s.Sent += 8 << 20
			w.pass(200*time.Millisecond, Default.Every)
			w.begin("r", gb/50)
			return w.pass(time.Second, Default.Every)
		}, nil},
		"not for a whole window": {func(w *street) []phalanx.NodeID {
			w.begin("f", gb)
			w.pass(200*time.Millisecond, Default.Every)
			w.end("f")
			w.begin("r", gb/100)
			slow := w.pass(50*time.Millisecond, Default.Every)
			w.end("r")
			return slow
		}, nil},
		"a third of the best rate": {func(w *street) []phalanx.NodeID {
			w.begin("f", gb)
			w.pass(200*time.Millisecond, Default.Every)
			w.end("f")
			w.begin("r", gb/3)
			return w.pass(time.Second, Default.Every)
		}, nil},
		"slower than it was itself": {func(w *street) []phalanx.NodeID {
			w.begin("r", gb)
			w.pass(200*time.Millisecond, Default.Every)
			w.all["r"].rate = gb / 100
			return w.pass(time.Second, Default.Every)
		}, nil},
		"long ago": {func(w *street) []phalanx.NodeID {
			w.begin("f", gb)
			w.pass(200*time.Millisecond, Default.Every)
			w.end("f")
			w.now += 2 * Default.Memory
			w.begin("r", gb/100)
			return w.pass(time.Second, Default.Every)
		}, nil},
		"the sender itself waits": {func(w *street) []phalanx.NodeID {
			w.begin("f", gb)
			w.pass(200*time.Millisecond, Default.Every)
			w.begin("r", gb/100)
			var slow []phalanx.NodeID
			for range 20 {
				w.all["r"].s.Waits++
				slow = append(slow, w.pass(Default.Every, Default.Every)...)
			}
			w.all["r"].s.Waiting = true
			return append(slow, w.pass(time.Second, Default.Every)...)
		}, nil},
		"this node was held up": {func(w *street) []phalanx.NodeID {
			w.begin("f", gb)
			w.pass(200*time.Millisecond, Default.Every)
			w.end("f")
			w.begin("r", gb/100)
			return w.pass(2*time.Second, 3*Default.Every)
		}, nil},
		"ten share the rate": {func(w *street) []phalanx.NodeID {
			w.begin("f", gb)
			w.pass(200*time.Millisecond, Default.Every)
			w.end("f")
			for i := range 10 {
				w.begin(phalanx.NodeID(fmt.Sprint("r", i)), gb/10)
			}
			return w.pass(time.Second, Default.Every)
		}, nil},
		"all are slow": {func(w *street) []phalanx.NodeID {
			w.begin("f", gb)
			w.pass(200*time.Millisecond, Default.Every)
			w.end("f")
			w.begin("r1", gb/100)
			w.begin("r2", gb/100)
			return w.pass(time.Second, Default.Every)
		}, nil},
		"both objects of a slow one": {func(w *street) []phalanx.NodeID {
			w.begin("f", gb)
			w.pass(200*time.Millisecond, Default.Every)
			w.end("f")
			w.begin("r", gb/100)
			w.begin("r", gb/100)
			return w.pass(2*Default.Window, Default.Every)
		}, []phalanx.NodeID{"r", "r"}},
		"a slow network: the window is longer": {func(w *street) []phalanx.NodeID {
			w.begin("f", 4<<20)
			w.pass(time.Second, Default.Every)
			w.end("f")
			w.begin("r", 1<<19)
			if early := w.pass(900*time.Millisecond, Default.Every); len(early) > 0 {
				return append(early, "too early")
			}
			return w.pass(200*time.Millisecond, Default.Every)
		}, []phalanx.NodeID{"r"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.do(&street{pace: New(Default)}); !slices.Equal(got, c.want) {
				t.Errorf("%v were found slow, want %v", got, c.want)
			}
		})
	}
}

// A transfer of few bytes is not observed, unless it may become a long one.
func TestSmallTransfersAreNotObserved(t *testing.T) {
	for bytes, observed := range map[int64]bool{0: false, Default.Least - 1: false, Default.Least: true, phalanx.UnknownSize: true} {
		p, f := New(Default), &Flow{To: "a"}
		p.Add(f, bytes, 0, Sample{})
		if p.Idle() == observed {
			t.Errorf("%d bytes are observed: %v", bytes, !observed)
		}
		p.Remove(f, time.Second, Sample{})
		if !p.Idle() {
			t.Errorf("%d bytes are observed after their end", bytes)
		}
	}
}
