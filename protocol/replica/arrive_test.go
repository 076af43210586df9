package replica

import (
	"testing"
	"time"
)

// A late copy of a piece does not end the state that is on its way, and another state does.
func TestArrivals(t *testing.T) {
	batch := func(term, seq uint64, stamp time.Duration) Batch { return Batch{"a#1", Version{term, seq}, stamp} }
	for _, c := range []struct {
		of         Batch
		same, late bool
	}{
		{of: batch(2, 7, 10), same: true},
		{of: batch(1, 7, 20), late: true},
		{of: batch(2, 7, 9), late: true},
		{of: batch(2, 7, 11)},
		{of: batch(2, 8, 10)},
		{of: batch(3, 7, 5)},
		{of: Batch{"b#1", Version{2, 7}, 10}},
	} {
		var all Arrivals[string, []byte]
		first := all.Of("x", batch(2, 7, 10))
		first.Next(0, 4, 8)
		got := all.Of("x", c.of)
		if late, same := got == nil, got == first; late != c.late || same != c.same {
			t.Errorf("%+v: late %v, the same %v", c.of, late, same)
		}
		if other := all.Of("y", c.of); other == nil || other.Have() != 0 {
			t.Errorf("%+v: of another key there is %+v", c.of, other)
		}
	}
}

// Pieces count in order, each once, and of one total.
func TestPieces(t *testing.T) {
	var p Pieces
	for i, c := range []struct {
		from, n, total int
		next           bool
		have           int
	}{
		{4, 4, 10, false, 0},
		{0, 4, 10, true, 4},
		{0, 4, 10, false, 4},
		{8, 2, 10, false, 4},
		{4, 4, 11, false, 4},
		{4, 4, 10, true, 8},
		{4, 4, 10, false, 8},
		{8, 2, 10, true, 10},
	} {
		if next := p.Next(c.from, c.n, c.total); next != c.next || p.Have() != c.have || p.Whole() != (c.have == 10) {
			t.Errorf("piece %d: it is the next %v, %+v", i, next, p)
		}
	}
	var empty Pieces
	if empty.Whole() || !empty.Next(0, 0, 0) || !empty.Whole() {
		t.Errorf("a state without items: %+v", empty)
	}
}
