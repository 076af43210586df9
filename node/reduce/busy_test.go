package reduce

import (
	"testing"
	"time"
)

// A place asks a busy node again ever later, and gives up after a while.
func TestBusy(t *testing.T) {
	b := Busy{Since: time.Minute}
	for _, want := range []time.Duration{10, 20, 40, 80, 160, 320, 320} {
		if pause, ok := b.Again(time.Minute + busyPatience); pause != want*time.Millisecond || !ok {
			t.Errorf("again in %v, %v, want %v ms", pause, ok, int64(want))
		}
	}
	if _, ok := b.Again(time.Minute + busyPatience + 1); ok {
		t.Error("it goes on")
	}
}
