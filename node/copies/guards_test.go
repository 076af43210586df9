package copies

import (
	"fmt"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// counted is a copy whose host counts how often its memory is looked at.
type counted struct {
	*had
	counts int
}

func (c *counted) Counts() { c.counts++ }

// Calls about an object of which there is no copy, or another generation, change nothing.
func TestNoSuchCopy(t *testing.T) {
	gen := phalanx.Generation{Epoch: 1, Seq: 2}
	r := directory.Result{State: directory.Finished, Gen: gen, Tag: "tag", Note: []byte("note")}
	for name, seq := range map[string]uint64{"none": 0, "an older one": 1, "a newer one": 3} {
		table, h := NewTable(), (*had)(nil)
		if seq > 0 {
			h = whole(table, "x", seq)
			h.Pinned = true
		}
		table.KeepCopies("x", gen, 3)
		if pinned := table.Pin("x", gen); pinned != (seq > 2) {
			t.Errorf("%s is pinned: %v", name, pinned)
		}
		if table.Learn("x", gen, r) != 0 || table.Obeyed("x", gen, 3) != nil || table.Leased("x", 7) || table.Sure("x", gen) != nil || table.Whole("x", gen) {
			t.Errorf("%s counts as the copy", name)
		}
		if h != nil && (h.Copies != 0 || h.Tag != "" || h.Note != nil) {
			t.Errorf("%s: %+v", name, h.Lore)
		}
		gone := part("x", 2)
		gone.Dropped = true
		if table.Successor(&gone.Copy) != nil {
			t.Errorf("%s takes its place", name)
		}
	}
	if got := (Here{Busy: true}).Of(nil); got != (Here{Busy: true}) {
		t.Errorf("without a copy: %+v", got)
	}
}

// The same small bytes come again: the copy stays that was here, for its readers too.
func TestTheSameBytesAgain(t *testing.T) {
	table := NewTable()
	before := whole(table, "x", 1)
	if got := table.Enter(&part("x", 1).Copy); got != &before.Copy || before.Dropped {
		t.Errorf("%+v takes its place", got)
	}
}

// A copy that is pinned or dropped is no victim any more, and the host looks at its memory.
func TestThePinnedAndTheDroppedAreNoVictims(t *testing.T) {
	for what, end := range map[string]func(table *Table, c *Copy){
		"pinned":    func(table *Table, c *Copy) { table.Pin("x", c.Gen) },
		"wanted":    func(table *Table, c *Copy) { table.Want(c, c.Gen, false) },
		"supplied":  func(table *Table, c *Copy) { table.Supply(&part("x", 1).Copy) },
		"finished":  func(table *Table, c *Copy) { table.Finish(c, c.Meta, c.Digest, true) },
		"dropped":   func(table *Table, c *Copy) { table.Drop(c, nil) },
		"corrupted": func(table *Table, c *Copy) { table.Corrupted(c, nil) },
	} {
		table := NewTable()
		h := &counted{had: part("x", 1)}
		h.Bytes = h
		if table.Show(&h.Copy); h.counts != 1 || len(h.told) != 1 {
			t.Errorf("%s: as it is shown the host looks %d times, and hears %v", what, h.counts, h.told)
		}
		table.Finish(&h.Copy, h.Meta, h.Digest, false)
		before := h.counts
		if end(table, &h.Copy); h.counts <= before {
			t.Errorf("%s: the host does not look at its memory", what)
		}
		if v, _ := table.Victim(1, func(int) bool { return false }); v != nil {
			t.Errorf("a copy that is %s is chosen", what)
		}
	}
}

// The copies of a node that has joined a cluster with another number of shards keep their order. Of
// the shards that are not busy, the copy is chosen that was used first.
func TestVictimsOfManyShards(t *testing.T) {
	const shards = 4
	table := NewTable()
	var all []*had
	for i := range 40 {
		all = append(all, whole(table, phalanx.ObjectID(fmt.Sprint("x", i)), 1))
	}
	if v, _ := table.Victim(0, nil); v != nil {
		t.Error("a copy is chosen before there is a view")
	}
	refused, _ := table.Victim(1, func(int) bool { return false })
	table.Keep(refused, true) // that counts no more in the next cluster
	busy := all[1].Object.Shard(shards)
	for _, want := range all {
		if want.Object.Shard(shards) == busy {
			continue
		}
		v, shard := table.Victim(shards, func(s int) bool { return s == busy })
		if v != &want.Copy || shard != want.Object.Shard(shards) {
			t.Fatalf("%+v of shard %d is chosen, not %s", v, shard, want.Object)
		}
	}
	if v, _ := table.Victim(shards, func(s int) bool { return s == busy }); v != nil {
		t.Errorf("%s is chosen, whose shard is busy", v.Object)
	}
}

// An error says whether a newer generation has taken the place of the copy.
func TestEnded(t *testing.T) {
	newer := phalanx.Generation{Epoch: 4, Seq: 7}
	for _, e := range []*Ended{{Reset, newer}, {Why: Aborted}} {
		if text := e.Error(); strings.Contains(text, newer.String()) != (e.Why == Reset) {
			t.Errorf("%+v: %s", e, text)
		}
	}
}

// Eviction gives back neither the memory of a part that will be pinned nor of one that is made here.
func TestWhatLasts(t *testing.T) {
	for _, c := range []struct {
		copy             Copy
		pinned, reserved bool
	}{
		{Copy{}, false, false},
		{Copy{Pinned: true}, false, true},
		{Copy{Origin: true}, false, true},
		{Copy{Complete: true}, false, false},
		{Copy{Complete: true, Pinned: true}, true, false},
		{Copy{Complete: true, Pinned: true, Dropped: true}, false, false},
		{Copy{Origin: true, Dropped: true}, false, false},
	} {
		if pinned, reserved := c.copy.Lasts(); pinned != c.pinned || reserved != c.reserved {
			t.Errorf("%+v: %v, %v", c.copy, pinned, reserved)
		}
	}
}
