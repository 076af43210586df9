package soak

import (
	"math"
	"slices"
	"sync"
	"time"
)

// window is a time in which a process was disturbed, and with it the cluster.
type window struct {
	process string
	kind    string // of fault
	from    time.Duration
	to      time.Duration // when all was restored; never, until then
	removed bool          // the node left the view
	hid     []*object     // were put elsewhere while only the node, which may have left the view, had them
}

const never = time.Duration(math.MaxInt64)

// disturbance is how long after a fault is over what it caused may still be
// told: an answer that was on its way.
const disturbance = 2 * time.Second

// faults is what is known of the faults. It is safe for concurrent use.
type faults struct {
	mu      sync.RWMutex
	windows []*window
	counts  map[string]int
	away    map[string]string // the processes that have died or left: what became of them
}

func newFaults() *faults { return &faults{counts: map[string]int{}, away: map[string]string{}} }

// begin notes that a fault happens.
func (f *faults) begin(process, kind string, now time.Duration) *window {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := &window{process: process, kind: kind, from: now, to: never}
	f.windows = append(f.windows, w)
	f.counts[kind]++
	return w
}

// end notes that all is restored.
func (f *faults) end(w *window, now time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.to = now
}

// open returns the fault of one kind on a process that is not over, or nil.
func (f *faults) open(process, kind string) *window {
	f.mu.RLock()
	defer f.mu.RUnlock()
	for _, w := range f.windows {
		if w.process == process && w.kind == kind && w.to == never {
			return w
		}
	}
	return nil
}

// hide notes for each process that is stopped, and so cannot tell that its node has left
// the view, whether the object may be nowhere else. What is put now may be in its place.
func (f *faults) hide(o *object) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, w := range f.windows {
		if w.to == never && w.kind == stopped && o.hides(w.process) {
			w.hid = append(w.hid, o)
		}
	}
}

// hidden returns those objects.
func (f *faults) hidden(w *window) []*object {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return w.hid
}

// remove notes that the node left the view.
func (f *faults) remove(w *window) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.removed = true
}

// removals returns the faults since a time for which nodes left the view.
func (f *faults) removals(since time.Duration) (all []*window) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	for _, w := range f.windows {
		if w.removed && w.to >= since {
			all = append(all, w)
		}
	}
	return all
}

// any reports whether there was a fault between two times.
func (f *faults) any(from, to time.Duration) bool {
	return f.find(func(w *window) bool { return w.overlaps(from, to) })
}

// on reports whether there was one of a process, of one of the kinds if any are
// named.
func (f *faults) on(process string, from, to time.Duration, kinds ...string) bool {
	return f.find(func(w *window) bool {
		return (w.process == process || w.process == driver && w.kind == still) && w.overlaps(from, to) && (len(kinds) == 0 || slices.Contains(kinds, w.kind))
	})
}

func (f *faults) find(is func(*window) bool) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return slices.ContainsFunc(f.windows, is)
}

func (w *window) overlaps(from, to time.Duration) bool {
	return w.from <= to && (w.to == never || w.to+disturbance >= from)
}

// copyCounts returns how many faults of each kind there were.
func (f *faults) copyCounts() map[string]int {
	f.mu.RLock()
	defer f.mu.RUnlock()
	out := map[string]int{}
	for k, n := range f.counts {
		out[k] = n
	}
	return out
}

// forget drops what was over before a time.
func (f *faults) forget(before time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.windows = slices.DeleteFunc(f.windows, func(w *window) bool { return w.to < before })
}
