package copies

import (
	"testing"
	"time"
)

// A receiver waits a second for a copy, and two more as long as a copy is expected, but not for
// ever: the fetch may wait for a later generation than the receiver does.
func TestHope(t *testing.T) {
	for name, c := range map[string]struct {
		expected func(now time.Duration) bool
		ends     time.Duration
	}{
		"never":         {func(time.Duration) bool { return false }, time.Second},
		"for a while":   {func(now time.Duration) bool { return now <= 700*time.Millisecond }, 1700 * time.Millisecond},
		"always":        {func(time.Duration) bool { return true }, 3 * time.Second},
		"after a while": {func(now time.Duration) bool { return now >= 500*time.Millisecond }, 3 * time.Second},
	} {
		const began, step = time.Minute, 10 * time.Millisecond
		h, now := NewHope(began), time.Duration(0)
		for !h.Ends(began+now, c.expected(now)) && now < time.Minute {
			now += step
		}
		if now != c.ends+step {
			t.Errorf("expected %s: it ends after %v", name, now)
		}
	}
}
