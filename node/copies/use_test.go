package copies

import (
	"testing"

	"github.com/phalanx-go/phalanx/protocol/directory"
)

// A copy that was just handed out, or is pinned, or gone, is not evicted.
func TestWhatIsInUseIsNoVictim(t *testing.T) {
	table, idle := NewTable(), func(int) bool { return false }
	arrived := part("x", 1)
	arrived.here = true
	table.Show(&arrived.Copy)
	again := part("x", 1)
	if got := table.Enter(&again.Copy); got != &arrived.Copy {
		t.Fatal("there are two")
	}
	if v, _ := table.Victim(1, idle); v != nil {
		t.Error("a copy that was just handed out is chosen")
	}
	table.Unuse(&arrived.Copy)
	v, _ := table.Victim(1, idle)
	table.Pin("x", v.Gen)
	table.Keep(v, false)
	if v, _ = table.Victim(1, idle); v != nil {
		t.Error("a pinned copy is chosen")
	}
	gone := whole(table, "y", 1)
	table.Victim(1, idle)
	table.Drop(&gone.Copy, nil)
	if !table.Evict(&gone.Copy, nil) || table.Evictions() != 0 {
		t.Error("a copy that an order dropped counts as evicted")
	}
}

// A pinned copy has the answer of the Reduce that has made it, if that is not too long.
func TestLearn(t *testing.T) {
	for _, c := range []struct {
		pinned bool
		note   int
		want   int
	}{{true, 9, 9}, {false, 9, 0}, {true, maxNote, maxNote}, {true, maxNote + 1, 0}} {
		table := NewTable()
		x := whole(table, "x", 1)
		x.Pinned = c.pinned
		r := directory.Result{State: directory.Finished, Gen: x.Gen, Tag: "tag", Note: make([]byte, c.note)}
		if n := table.Learn("x", x.Gen, r); n != c.want || len(x.Note) != n || x.Tag != "tag" {
			t.Errorf("%+v: %d", c, n)
		}
		if table.Learn("x", x.Gen, r) != 0 && c.want > 0 {
			t.Errorf("%+v: it is learned twice", c)
		}
	}
}

// A copy keeps the greatest number of copies that was wanted, and a complete copy is no origin in
// a holding.
func TestKeptAndTold(t *testing.T) {
	table := NewTable()
	made := origin("x", 1)
	table.Show(&made.Copy)
	table.KeepCopies("x", made.Gen, 3)
	table.KeepCopies("x", made.Gen, 2)
	table.Finish(&made.Copy, made.Meta, made.Digest, true)
	if h := table.Holdings([]bool{true})[0][0]; h.Copies != 3 || h.Origin {
		t.Errorf("%+v", h)
	}
	table.Drop(&made.Copy, nil)
	next := part("x", 1)
	table.Show(&next.Copy)
	if table.Successor(&made.Copy) != nil {
		t.Error("a part takes the place of a complete copy")
	}
}
