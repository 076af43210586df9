package storenode

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// street drives a pace with receivers that take bytes at given rates.
type street struct {
	pace pace
	now  time.Duration
	all  map[phalanx.NodeID]*taker
}

type taker struct {
	flow flow
	rate int64 // bytes per second
	s    sample
}

func (w *street) begin(n phalanx.NodeID, rate int64) {
	if w.all == nil {
		w.all = map[phalanx.NodeID]*taker{}
	}
	k := &taker{flow: flow{to: n}, rate: rate}
	if w.all[n] != nil { // a second object
		n += "'"
	}
	w.all[n] = k
	w.pace.add(&k.flow, w.now, k.s)
}

func (w *street) end(n phalanx.NodeID) {
	w.pace.remove(&w.all[n].flow, w.now, w.all[n].s)
	delete(w.all, n)
}

// pass lets time pass in steps and returns who was found slow, in order.
func (w *street) pass(d, step time.Duration) (slow []phalanx.NodeID) {
	for end := w.now + d; w.now < end; {
		w.now += step
		for _, k := range w.all {
			k.s.sent += int64(float64(k.rate) * step.Seconds())
		}
		for _, f := range w.pace.observe(w.now, func(f *flow) sample {
			for _, k := range w.all {
				if &k.flow == f {
					return k.s
				}
			}
			return sample{}
		}) {
			slow = append(slow, f.to)
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
		"alone, and nothing is known": {func(w *street) []phalanx.NodeID {
			w.begin("r", gb/100)
			return w.pass(time.Second, paceEvery)
		}, nil},
		"slow beside a fast one, told once a second": {func(w *street) []phalanx.NodeID {
			w.begin("f", gb)
			w.begin("r", gb/100)
			return w.pass(paceRepeat+2*paceWindow, paceEvery)
		}, []phalanx.NodeID{"r", "r"}},
		"slow after a fast one that was looked at too late": {func(w *street) []phalanx.NodeID {
			w.begin("f", gb)
			w.pass(2*paceLate, paceLate+time.Millisecond)
			w.end("f")
			w.begin("r", gb/100)
			return w.pass(paceRepeat, paceEvery)
		}, []phalanx.NodeID{"r"}},
		"slow after a fast one": {func(w *street) []phalanx.NodeID {
			w.begin("f", gb)
			w.pass(200*time.Millisecond, paceEvery)
			w.end("f")
			w.begin("r", gb/5)
			return w.pass(100*time.Millisecond, paceEvery)
		}, []phalanx.NodeID{"r"}},
		"slow after a short fast one": {func(w *street) []phalanx.NodeID {
			w.begin("f", gb)
			w.now += 50 * time.Millisecond
			w.all["f"].s.sent += gb / 20
			w.end("f")
			w.begin("r", gb/5)
			return w.pass(100*time.Millisecond, paceEvery)
		}, []phalanx.NodeID{"r"}},
		"a few bytes at once tell nothing": {func(w *street) []phalanx.NodeID {
			w.begin("f", gb)
			w.now += time.Millisecond
			w.all["f"].s.sent += 4 << 20
			w.end("f")
			w.begin("r", gb/5)
			return w.pass(time.Second, paceEvery)
		}, nil},
		"so do those at the beginning": {func(w *street) []phalanx.NodeID {
			w.begin("f", gb/10)
			w.now += 50 * time.Millisecond
			w.all["f"].s.sent += 8 << 20
			w.pass(200*time.Millisecond, paceEvery)
			w.begin("r", gb/50)
			return w.pass(time.Second, paceEvery)
		}, nil},
		"not for a whole window": {func(w *street) []phalanx.NodeID {
			w.begin("f", gb)
			w.pass(200*time.Millisecond, paceEvery)
			w.end("f")
			w.begin("r", gb/100)
			slow := w.pass(50*time.Millisecond, paceEvery)
			w.end("r")
			return slow
		}, nil},
		"a third of what was": {func(w *street) []phalanx.NodeID {
			w.begin("f", gb)
			w.pass(200*time.Millisecond, paceEvery)
			w.end("f")
			w.begin("r", gb/3)
			return w.pass(time.Second, paceEvery)
		}, nil},
		"long ago": {func(w *street) []phalanx.NodeID {
			w.begin("f", gb)
			w.pass(200*time.Millisecond, paceEvery)
			w.end("f")
			w.now += 2 * paceMemory
			w.begin("r", gb/100)
			return w.pass(time.Second, paceEvery)
		}, nil},
		"the sender itself waits": {func(w *street) []phalanx.NodeID {
			w.begin("f", gb)
			w.pass(200*time.Millisecond, paceEvery)
			w.begin("r", gb/100)
			var slow []phalanx.NodeID
			for range 20 {
				w.all["r"].s.waits++
				slow = append(slow, w.pass(paceEvery, paceEvery)...)
			}
			w.all["r"].s.waiting = true
			return append(slow, w.pass(time.Second, paceEvery)...)
		}, nil},
		"this node was held up": {func(w *street) []phalanx.NodeID {
			w.begin("f", gb)
			w.pass(200*time.Millisecond, paceEvery)
			w.end("f")
			w.begin("r", gb/100)
			return w.pass(2*time.Second, 3*paceEvery)
		}, nil},
		"ten that share": {func(w *street) []phalanx.NodeID {
			w.begin("f", gb)
			w.pass(200*time.Millisecond, paceEvery)
			w.end("f")
			for i := range 10 {
				w.begin(phalanx.NodeID(fmt.Sprint("r", i)), gb/10)
			}
			return w.pass(time.Second, paceEvery)
		}, nil},
		"all are slow": {func(w *street) []phalanx.NodeID {
			w.begin("f", gb)
			w.pass(200*time.Millisecond, paceEvery)
			w.end("f")
			w.begin("r1", gb/100)
			w.begin("r2", gb/100)
			return w.pass(time.Second, paceEvery)
		}, nil},
		"both objects of a slow one": {func(w *street) []phalanx.NodeID {
			w.begin("f", gb)
			w.pass(200*time.Millisecond, paceEvery)
			w.end("f")
			w.begin("r", gb/100)
			w.begin("r", gb/100)
			return w.pass(2*paceWindow, paceEvery)
		}, []phalanx.NodeID{"r", "r"}},
		"a slow network: the window is longer": {func(w *street) []phalanx.NodeID {
			w.begin("f", 4<<20)
			w.pass(time.Second, paceEvery)
			w.end("f")
			w.begin("r", 1<<19)
			if early := w.pass(900*time.Millisecond, paceEvery); len(early) > 0 {
				return append(early, "too early")
			}
			return w.pass(200*time.Millisecond, paceEvery)
		}, []phalanx.NodeID{"r"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.do(&street{}); !slices.Equal(got, c.want) {
				t.Errorf("%v were found slow, want %v", got, c.want)
			}
		})
	}
}
