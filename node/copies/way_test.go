package copies

import (
	"testing"

	"github.com/phalanx-go/phalanx"
)

// A caller takes what is here, waits for what is made here, and fetches all else, also with a part.
func TestWay(t *testing.T) {
	table := NewTable()
	if got := table.Way(nil); got != Fetches {
		t.Errorf("without a copy: %d", got)
	}
	for name, c := range map[string]struct {
		copy *had
		then func(*had)
		want Way
	}{
		"a part":                 {part("a", 1), func(*had) {}, Fetches},
		"a complete copy":        {part("b", 1), func(h *had) { table.Finish(&h.Copy, phalanx.Meta{}, h.Digest, false) }, Has},
		"what is made here":      {origin("c", 1), func(*had) {}, Makes},
		"what was made here":     {origin("d", 1), func(h *had) { table.Finish(&h.Copy, phalanx.Meta{}, h.Digest, true) }, Has},
		"what is made in a ring": {origin("e", 1), func(h *had) { h.Ring = true }, Makes},
	} {
		table.Show(&c.copy.Copy)
		c.then(c.copy)
		if got := table.Way(table.Of(c.copy.Object)); got != c.want {
			t.Errorf("%s: %d, not %d", name, got, c.want)
		}
	}
}

// A node announces the copy that it was ordered to keep, and no other one.
func TestObeyed(t *testing.T) {
	for name, c := range map[string]struct {
		seq             uint64
		complete, leave bool
		want            bool
	}{
		"the copy":                    {2, true, false, true},
		"a part":                      {2, false, false, false},
		"another generation":          {3, true, false, false},
		"of a node that leaves":       {2, true, true, false},
		"a part of a former copy":     {1, false, false, false},
		"a former copy, as it leaves": {1, true, true, false},
	} {
		table, order := NewTable(), part("x", 2)
		h := part("x", c.seq)
		table.Show(&h.Copy)
		if c.complete {
			table.Finish(&h.Copy, phalanx.Meta{}, h.Digest, false)
			table.Want(&h.Copy, order.Gen, c.leave)
		}
		got := table.Obeyed("x", order.Gen, 3)
		if (got != nil) != c.want || c.want && got.Copies != 3 {
			t.Errorf("%s: %+v", name, got)
		}
		if !c.want && h.Copies != 0 {
			t.Errorf("%s: it is one of %d", name, h.Copies)
		}
	}
}
