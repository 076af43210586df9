package ledger_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/internal/durable/memory"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// read returns what the folders of nodes that are not up hold.
func (w *world) read(hosts ...*host) (states []ledger.State, found []ledger.Found) {
	for _, h := range hosts {
		d, err := h.folder.Open(memory.Config{Later: func(f func()) { f() }})
		if err != nil {
			w.t.Fatal(err)
		}
		s, err := d.State()
		h.check(err)
		f, err := ledger.Find(s)
		h.check(err)
		states, found = append(states, s), append(found, f)
		h.folder.Crash(func(n int) int { return n })
	}
	return states, found
}

// recover has the ledger go on from the folder that has most, of those of nodes that are not up and that are left. Rows that it
// does not have are lost.
func (w *world) recover(left ...*host) *host {
	states, found := w.read(left...)
	best, _, err := ledger.Survey(found)
	if err != nil {
		w.t.Fatal(err)
	}
	h := left[best]
	write, err := ledger.Recover(states[best], w.now)
	h.check(err)
	d, err := h.folder.Open(memory.Config{Later: func(f func()) { f() }})
	h.check(err)
	d.Apply(write, h.check)
	rows := map[string]bool{}
	h.check(d.Scan("", func(r ledger.Row) bool { rows[r.Key] = true; return true }))
	for key := range w.acked {
		if !rows[key] {
			delete(w.acked, key)
		}
	}
	h.folder.Crash(func(n int) int { return n })
	return h
}

// epoch returns the greatest epoch of all tenures.
func (w *world) epoch() (last uint64) {
	for e := range w.epochs {
		last = max(last, e)
	}
	return last
}

// Two of three disks are lost for good. The third one goes on alone, its rows are there and its epochs are greater; new disks are
// added. An old disk that comes back ends its replica, and its folder remembers that.
func TestRecoveredLedgerGoesOn(t *testing.T) {
	w := three(t, 21)
	w.run(time.Second)
	for _, h := range w.hosts {
		h.kill()
	}
	a, b, c := w.named("a"), w.named("b"), w.named("c")
	olds := a.folder
	a.folder, b.folder = w.folder(), w.folder()
	before := w.epoch()
	w.recover(c)
	kept := len(w.acked)
	if kept == 0 {
		t.Fatal("no row is left")
	}
	c.start()
	w.until("leader", 10*time.Second, func() bool { return w.leader() == c })
	if e := w.epoch(); e <= before || ledger.GenerationOf(e) == 0 {
		t.Errorf("after the epoch %d comes %d", before, e)
	}
	a.start()
	b.start()
	w.until("ledger of three disks", 20*time.Second, func() bool { return w.voters() == "[a b c]" })
	if w.run(time.Second); len(w.acked) <= kept {
		t.Error("nothing was appended")
	}

	x := w.node("x", "9")
	x.folder = olds
	for range 2 {
		x.start()
		w.until("end of the old replica", 5*time.Second, func() bool { return x.halted != nil })
		if !strings.Contains(x.halted.Error(), "recovered without this disk") {
			t.Errorf("it ends: %v", x.halted)
		}
		if x.epoch != 0 {
			t.Error("it leads")
		}
		w.run(10 * time.Second)
		if l := w.leader(); l == nil || x.leads.Replica>>16 != l.disk.Identity().Disk {
			t.Errorf("its node takes %+v for the leader", x.leads)
		}
		x.kill()
	}
	if w.voters() != "[a b c]" {
		t.Errorf("the voters are %s", w.voters())
	}
	for _, h := range []*host{a, b, c} { // the other disk of the old majority does not come to it
		h.kill()
	}
	x.start()
	w.run(time.Second)
	if x.halted == nil || x.epoch != 0 {
		t.Error("the folder has forgotten that it is old")
	}
}

// The majority of a ledger that was recovered by mistake lives: it goes on, and the recovered replica ends before it leads.
func TestRecoveredByMistake(t *testing.T) {
	for seed := range int64(5) {
		w := three(t, 30+seed)
		w.run(3 * time.Second) // the folders remember addresses
		c := w.hosts[seed%3]
		c.kill()
		w.run(5 * time.Second)
		acked := len(w.acked)
		states, _ := w.read(c)
		write, err := ledger.Recover(states[0], w.now)
		c.check(err)
		d, err := c.folder.Open(memory.Config{Later: func(f func()) { f() }})
		c.check(err)
		d.Apply(write, c.check)
		c.folder.Crash(func(n int) int { return n })
		c.start()
		w.until("end of the recovered replica", 5*time.Second, func() bool { return c.halted != nil })
		if !strings.Contains(c.halted.Error(), "most of the others are there") {
			t.Errorf("it ends: %v", c.halted)
		}
		w.run(20 * time.Second)
		for _, h := range w.hosts {
			if h != c && h.halted != nil {
				t.Errorf("%s ends: %v", h.name, h.halted)
			}
		}
		if w.epoch() != w.leader().epoch || ledger.GenerationOf(w.epoch()) != 0 || len(w.acked) <= acked {
			t.Errorf("the epochs are %v, %d rows", w.epochs, len(w.acked))
		}
	}
}

// A node tells of the generation of its replica before there is a leader: an old replica that hears that ends at once.
func TestHelloTellsTheGeneration(t *testing.T) {
	w := three(t, 23)
	for _, h := range w.hosts {
		h.kill()
	}
	c := w.named("c")
	w.recover(c)
	c.start()
	w.until("leader", 10*time.Second, func() bool { return w.leader() == c })
	w.node("d", "4").start()
	w.node("e", "5").start()
	w.until("ledger of three disks", 20*time.Second, func() bool { return w.voters() == "[c d e]" })
	w.run(time.Second)
	d, a := w.named("d"), w.named("a")
	for _, h := range w.hosts {
		if h.up {
			h.kill()
		}
	}
	d.start() // one of three
	w.run(time.Second)
	a.known = []string{"d:1"}
	a.start()
	w.until("end of the old replica", 5*time.Second, func() bool { return a.halted != nil })
	if w.leader() != nil {
		t.Error("one of three leads")
	}
}

// A node with an empty folder of the earlier generation takes part in the later one.
func TestSpareDiskComesAlong(t *testing.T) {
	w := three(t, 22)
	d := w.node("d", "4")
	d.start()
	w.run(5 * time.Second)
	for _, h := range w.hosts {
		h.kill()
	}
	c := w.named("c")
	w.recover(c)
	c.start()
	w.node("e", "5").start()
	d.start()
	w.until("ledger of three disks", 20*time.Second, func() bool { return w.voters() == "[c d e]" })
}

// Ledgers lose two disks of three while messages are lost, are recovered, and the old disks come back. In the end three living disks
// have all that was acknowledged since, and what the disk had that was left; the old ones have ended.
func TestRandomRecoveries(t *testing.T) {
	for seed := range worlds(1) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { randomRecovery(t, seed) })
	}
}

func randomRecovery(t *testing.T, seed int64) {
	w := three(t, 100+seed)
	w.drop = []float64{0, 0.02, 0.1}[w.rng.Intn(3)]
	var olds []*host
	for round := range 2 {
		w.run(time.Duration(w.rng.Intn(3000)) * time.Millisecond)
		holders := slices.DeleteFunc(slices.Clone(w.hosts), func(h *host) bool { return slices.Contains(olds, h) })
		w.rng.Shuffle(len(holders), func(i, j int) { holders[i], holders[j] = holders[j], holders[i] })
		for _, h := range holders { // one after the other: the last one may have more
			if h.up {
				h.kill()
				w.run(time.Duration(w.rng.Intn(1500)) * time.Millisecond)
			}
		}
		var left *host
		for _, h := range holders {
			_, found := w.read(h)
			if _, _, err := ledger.Survey(found); left == nil && err == nil {
				left = h
				continue
			} else if left == nil && errors.Is(err, ledger.ErrMajority) {
				return // it is the only disk still
			}
			old := w.node(fmt.Sprint("old", round, len(olds)), fmt.Sprint("o", len(olds)))
			old.folder, old.known = h.folder, []string{"a:1", "b:1", "c:1"}
			h.folder = w.folder()
			olds = append(olds, old)
		}
		before := w.epoch()
		w.recover(left)
		left.start()
		for _, h := range holders {
			if h != left {
				w.after(time.Duration(w.rng.Intn(8000))*time.Millisecond, h.start)
			}
		}
		w.until("leader", time.Minute, func() bool { return w.leader() != nil })
		for i, old := range olds[2*round:] { // the first one starts again with the second one: its folder remembers
			w.after(time.Duration(w.rng.Intn(4000))*time.Millisecond, old.start)
			w.until("end of the old replica", time.Minute, func() bool { return old.halted != nil })
			if i == 0 && w.rng.Intn(2) == 0 {
				old.kill()
				w.after(time.Duration(w.rng.Intn(4000))*time.Millisecond, old.start)
			}
		}
		w.until("ledger of three disks", 3*time.Minute, func() bool { return w.voters() == "[a b c]" })
		for e, by := range w.epochs {
			if e > before && strings.HasPrefix(by, "old") || e > before && ledger.GenerationOf(e) <= ledger.GenerationOf(before) {
				t.Fatalf("%s has led in the epoch %d, after %d", by, e, before)
			}
		}
	}
	w.drop = 0
	acked := len(w.acked)
	w.until("end of the old replicas", time.Minute, func() bool {
		return !slices.ContainsFunc(olds, func(h *host) bool { return h.halted == nil })
	})
	w.until("append", 5*time.Second, func() bool { return len(w.acked) > acked })
}
