package soak

import (
	"math"
	"slices"
	"sync"
	"time"
)

// window is a time in which a fault disturbed a process, and with it the cluster.
type window struct {
	process string
	kind    string // of fault
	from    time.Duration
	to      time.Duration // when all was restored; never, until then
	removed bool          // the node left the view
	hid     []*object     // only this node, which may have left the view, had them when they were put elsewhere
}

const never = time.Duration(math.MaxInt64)

// disturbance is how long after the end of a fault its effects may still arrive: an
// answer that was on its way.
const disturbance = 2 * time.Second

// faults is the record of the faults. It is safe for concurrent use.
type faults struct {
	mu      sync.RWMutex
	windows []*window
	counts  map[string]int
	away    map[string]string // the processes that have died or leave: killed or leaving
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

// end notes that the cluster has recovered from a fault.
func (f *faults) end(w *window, now time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.to = now
}

// open returns the present fault of one kind on a process, or nil.
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

// hide notes for each stopped process, which cannot tell that its node has left the view,
// whether it may have the only copy of the object. A put now may replace that copy.
func (f *faults) hide(o *object) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, w := range f.windows {
		if w.to == never && w.kind == stopped && o.hides(w.process) {
			w.hid = append(w.hid, o)
		}
	}
}

// hidden returns the objects that hide noted for w.
func (f *faults) hidden(w *window) []*object {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return w.hid
}

// remove notes that the node of w left the view.
func (f *faults) remove(w *window) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.removed = true
}

// removals returns the faults since a time that made nodes leave the view.
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

// on reports whether there was a fault of a process; if kinds are given, of one of
// them.
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

// copyCounts returns the number of faults of each kind.
func (f *faults) copyCounts() map[string]int {
	f.mu.RLock()
	defer f.mu.RUnlock()
	out := map[string]int{}
	for k, n := range f.counts {
		out[k] = n
	}
	return out
}

// forget drops the faults that were over before a time.
func (f *faults) forget(before time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.windows = slices.DeleteFunc(f.windows, func(w *window) bool { return w.to < before })
}
