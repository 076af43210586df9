package coordinator

import (
	"testing"
	"time"
)

// A combination without a deadline goes on until it is stopped.
func TestWithin(t *testing.T) {
	for _, c := range []struct {
		until, now time.Duration
		ends, late bool
	}{
		{0, time.Hour, false, false},
		{2 * time.Hour, time.Hour, true, false},
		{time.Hour, 2 * time.Hour, true, true},
	} {
		ctx, cancel := within(c.until, c.now)
		_, ends := ctx.Deadline()
		if late := ctx.Err() != nil; ends != c.ends || late != c.late {
			t.Errorf("until %v at %v: it has a deadline: %v, and has ended: %v", c.until, c.now, ends, late)
		}
		if cancel(); ctx.Err() == nil {
			t.Errorf("until %v: it goes on", c.until)
		}
	}
}
