package copies

import (
	"testing"

	"github.com/phalanx-go/phalanx"
)

// A complete copy that has changed in memory goes, once. A part stays in the table: its fetch or
// its Put drops it.
func TestCorrupted(t *testing.T) {
	for name, c := range map[string]struct {
		do    func(*Table, *Copy)
		want  Outcome
		stays bool
	}{
		"a part":                       {func(*Table, *Copy) {}, Restarts, true},
		"a part that was dropped":      {func(t *Table, c *Copy) { t.Drop(c, nil) }, Gone, false},
		"a complete copy":              {func(t *Table, c *Copy) { t.Finish(c, phalanx.Meta{}, phalanx.Digest{1}, true) }, Removed, false},
		"a copy that was given up":     {func(t *Table, c *Copy) { t.Finish(c, phalanx.Meta{}, phalanx.Digest{1}, false); t.Corrupted(c, nil) }, Gone, false},
		"a copy that is read, as well": {func(t *Table, c *Copy) { t.Finish(c, phalanx.Meta{}, phalanx.Digest{1}, false); t.Use(c) }, Removed, false},
	} {
		table := NewTable()
		copied := &part("x", 1).Copy
		if _, ok := table.Show(copied); !ok {
			t.Fatal("it is not shown")
		}
		c.do(table, copied)
		if got := table.Corrupted(copied, nil); got != c.want {
			t.Errorf("%s: the outcome is %d, not %d", name, got, c.want)
		}
		if stays := table.Of("x") != nil; stays != c.stays {
			t.Errorf("%s: it stays: %v", name, stays)
		}
	}
}

// A part that has changed goes as soon as it is complete. Until then no other receiver gets it, and good bytes
// take its place.
func TestDropChanged(t *testing.T) {
	for name, changed := range map[string]bool{"a part": false, "a part that has changed": true} {
		table, a := NewTable(), NewAsked(0, origin("x", 1).Gen, false)
		put := &origin("x", 1).Copy
		table.Show(put)
		if changed {
			table.Corrupted(put, nil)
		}
		if turn := table.Turn(&a, put, 0, true, 1); (turn == Awaits) != changed || (turn == Streams) == changed {
			t.Errorf("%s: a receiver's turn is %d", name, turn)
		}
		table.Finish(put, phalanx.Meta{}, put.Digest, true)
		if dropped, again := table.DropChanged(put, nil), table.DropChanged(put, nil); dropped != changed || again || (table.Of("x") == nil) != changed {
			t.Errorf("%s: dropped: %v, and again: %v", name, dropped, again)
		}
	}
	table, put, good := NewTable(), origin("x", 1), part("x", 1)
	put.here = true
	table.Show(&put.Copy)
	table.Corrupted(&put.Copy, nil)
	if got := table.Enter(&good.Copy); got != &good.Copy || !put.Dropped {
		t.Errorf("good bytes came; dropped: %v", put.Dropped)
	}
}

// An owner hears the digest of the bytes, unless they are not those that the node got.
func TestFinding(t *testing.T) {
	right, wrong := phalanx.Digest{1}, phalanx.Digest{2}
	for name, c := range map[string]struct {
		now       phalanx.Digest
		intact    bool
		tell      phalanx.Digest
		corrupted bool
	}{
		"nothing has changed":            {right, false, right, false}, // no piece is looked at
		"a piece has changed":            {wrong, false, phalanx.Digest{}, true},
		"the kept digest was wrong":      {wrong, true, wrong, false},
		"nothing has changed, no pieces": {right, true, right, false},
	} {
		if tell, corrupted := Finding(right, c.now, func() bool { return c.intact }); tell != c.tell || corrupted != c.corrupted {
			t.Errorf("%s: told is %v; corrupted: %v", name, tell, corrupted)
		}
	}
}
