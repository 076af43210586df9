package barrier

import (
	"testing"
	"time"
)

func TestLeast(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want int
	}{
		{Config{Max: 4}, 4},
		{Config{Max: 10, Percent: 50}, 5},
		{Config{Max: 10, Percent: 33}, 4},
		{Config{Max: 3, Percent: 1}, 1},
		{Config{Max: 10, Percent: 50, MinWait: time.Second}, 5},
		{Config{Max: 10, Timeout: time.Second}, 0},
		{Config{Max: 10, Knee: Knee{Percent: 60}}, 6},
		{Config{Max: 10, Knee: Knee{Time: time.Second}}, 2},
		{Config{Max: 1, Knee: Knee{Time: time.Second}}, 1},
		{Config{Max: 10, Percent: 90, Knee: Knee{Percent: 60}}, 6},
		{Config{Max: 10, Callback: true, CallbackTimeout: time.Second}, 0},
		{Config{Semaphore: Semaphore{Count: 3}}, 0},
		{Config{Max: 10, Throttle: Throttle{Count: 1, Period: time.Second}}, 10},
	} {
		if got := c.cfg.Least(); got != c.want {
			t.Errorf("%+v fires with %d units, want %d", c.cfg, got, c.want)
		}
	}
}
