package ask

import (
	"testing"
	"time"
)

func TestWhatIsOwedToAnOwner(t *testing.T) {
	var o owed
	tells := func(at time.Duration, want bool) {
		t.Helper()
		if got := o.Tell(at * time.Millisecond); got != want {
			t.Errorf("at %d ms: told %v, want %v", at, got, want)
		}
	}
	tells(0, false) // nobody owns it
	o.Learn("a", 1, 0, true)
	tells(1, true)
	o.Learn("a", 2, 0, true) // another backup
	tells(2, false)
	tells(101, true)
	tells(300, false)
	tells(301, true)
	o.Take("b", 2)
	o.Take("a", 3)
	if !o.Open() {
		t.Error("a node that is not the owner counts as having taken the list")
	}
	o.Take("a", 1) // told by the first epoch of the same ownership
	tells(10_000, false)
	o.Learn("a", 3, 0, true)
	tells(10_001, false)
	o.Learn("a", 5, 0, false) // another owner may have come in between
	tells(10_002, true)
	o.Take("a", 3)
	if !o.Open() {
		t.Error("a list that was taken before a possible change of owners counts")
	}
	o.Take("a", 5)
	o.Learn("a", 6, 6, true) // the shard is rebuilt
	tells(10_003, true)
	o.Take("a", 6)
	o.Learn("b", 7, 6, true)
	tells(10_004, true)
}
