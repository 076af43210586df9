package poll_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/phalanx-go/phalanx/internal/poll"
)

// Holds returns soon after the condition holds, gives up after a minute, and looks less often at
// a condition that takes long to find out.
func TestHolds(t *testing.T) {
	for name, c := range map[string]struct {
		after, takes time.Duration // when the condition holds, and how long one look takes
		holds        bool
		looks        int
		ends         time.Duration
	}{
		"at once":  {0, 0, true, 1, 0},
		"soon":     {9500 * time.Microsecond, 0, true, 11, 10 * time.Millisecond},
		"slow":     {time.Second, 300 * time.Millisecond, true, 3, 1500 * time.Millisecond},
		"too late": {2 * time.Minute, 50 * time.Millisecond, false, 601, time.Minute + 50*time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, looks := time.Now(), 0
				holds := poll.Holds(func() bool {
					looks++
					time.Sleep(c.takes)
					return time.Since(began) >= c.after
				})
				if took := time.Since(began); holds != c.holds || looks != c.looks || took != c.ends {
					t.Errorf("%v after %v and %d looks, want %v after %v and %d", holds, took, looks, c.holds, c.ends, c.looks)
				}
			})
		})
	}
}
