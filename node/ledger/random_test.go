package ledger_test

import (
	"flag"
	"fmt"
	"testing"
	"time"
)

var seeds = flag.Int64("seeds", 40, "random worlds")

// worlds returns how many worlds a test tries that takes as long as so many of the others.
func worlds(as int64) int64 {
	if testing.Short() {
		return max(1, *seeds/as/4)
	}
	return max(1, *seeds/as)
}

// Nodes come, hang, are killed, lose their folders and leave, and messages get lost. No row whose append was
// done is ever missing in a tenure, no epoch begins twice, and in the end three living disks have all.
func TestRandomWorlds(t *testing.T) {
	for seed := range worlds(1) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { randomWorld(t, seed) })
	}
}

func randomWorld(t *testing.T, seed int64) {
	w := newWorld(t, seed)
	w.drop = []float64{0, 0.02, 0.1}[w.rng.Intn(3)]
	w.node("a", "m0").start()
	w.until("ledger", 5*time.Second, func() bool { return w.leader() != nil })
	for i := range 2 + w.rng.Intn(3) {
		h := w.node(string(rune('b'+i)), fmt.Sprint("m", w.rng.Intn(3)))
		if w.rng.Intn(8) == 0 {
			h.folder = nil
		}
		h.start()
		w.run(time.Duration(w.rng.Intn(2000)) * time.Millisecond)
	}
	for range 15 {
		w.fault()
		w.run(time.Duration(w.rng.Intn(4000)) * time.Millisecond)
	}
	w.drop = 0
	disks := 0
	for _, h := range w.hosts {
		if h.leaving {
			h.leaving = false
			w.changeView()
		}
		if !h.up {
			h.start()
		}
		if h.halted != nil {
			h.kill()
			h.folder, h.life = w.folder(), h.life+1
			h.start()
		}
		if h.folder != nil {
			disks++
		}
	}
	want := 3
	if disks < 3 {
		want = 1
	}
	w.until(fmt.Sprintf("ledger of %d living disks", want), 4*time.Minute, func() bool {
		l := w.leader()
		if l == nil || len(l.core.Voters()) < want {
			return false
		}
		for _, id := range l.core.Voters() {
			if w.holder(id) == "none" {
				return false
			}
		}
		return true
	})
	acked := len(w.acked)
	w.until("append", 5*time.Second, func() bool { return len(w.acked) > acked })
}

// fault has something happen to one node.
func (w *world) fault() {
	h := w.hosts[w.rng.Intn(len(w.hosts))]
	switch w.rng.Intn(8) {
	case 0, 1, 2:
		if h.up {
			h.kill()
		}
	case 3, 4, 5:
		if !h.up {
			h.start()
		}
	case 6:
		if h.up && h.folder != nil && w.spared(h) {
			h.kill()
			h.folder = w.folder()
			h.start()
		}
	case 7:
		if h.up {
			h.leaving = !h.leaving
			w.changeView()
		}
	}
}

// spared reports whether the ledger can do without what a node's disk has: three disks have replicas, all of
// which are there, or the disk has none.
func (w *world) spared(h *host) bool {
	l := w.leader()
	if l == nil || l.core.Voters() == nil {
		return false
	}
	has := false
	for _, id := range l.core.Voters() {
		name := w.holder(id)
		if name == "none" {
			return false
		}
		has = has || name == h.name
	}
	return !has || len(l.core.Voters()) >= 3
}
