package pace

import (
	"testing"
	"time"
)

func TestDownlink(t *testing.T) {
	type stream struct {
		at         time.Duration
		mb         int64
		took, idle time.Duration
		want       int64 // MB per second afterwards
	}
	for name, streams := range map[string][]stream{
		"the best counts":                 {{0, 40, time.Second, 0, 40}, {time.Second, 80, time.Second, 0, 80}, {2 * time.Second, 20, time.Second, 0, 80}},
		"a small one says nothing":        {{0, 1, time.Millisecond, 0, 0}},
		"of one whose sender waited, too": {{0, 40, time.Second, time.Second / 2, 0}},
		"but it shows what is possible":   {{0, 10, time.Second, 0, 10}, {time.Second, 40, time.Second, time.Second / 2, 40}},
		"for some time":                   {{0, 40, time.Second, 0, 40}, {downlinkMemory + time.Second, 10, time.Second, 0, 10}},
		"a sender that lies":              {{0, 40, time.Second, -time.Second, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			var d Downlink
			for _, s := range streams {
				d.Received(Default, Received{s.mb << 20, s.took, s.idle}, s.at)
				if got := d.Known(s.at) >> 20; got != s.want {
					t.Errorf("after %+v: %d MB/s", s, got)
				}
			}
			if got := d.Known(time.Hour); got != 0 {
				t.Errorf("after an hour: %d", got)
			}
		})
	}
}

// A rate says something of the sender if it had a mebibyte, and always bytes to send.
func TestRate(t *testing.T) {
	const mb = 1 << 20
	for name, c := range map[string]struct {
		bytes      int64
		took, idle time.Duration
		want       int64
	}{
		"enough":                   {2 * mb, time.Second, 0, 2 * mb},
		"a piece too few":          {mb - 1, time.Second, 0, 0},
		"waited a little":          {2 * mb, time.Second, time.Second / 4, 2 * mb},
		"waited":                   {2 * mb, time.Second, time.Second/4 + 1, 0},
		"a sender that lies":       {2 * mb, time.Second, -1, 0},
		"in no time at all":        {2 * mb, 0, 0, 0},
		"in a clock's one reading": {2 * mb, -1, 0, 0},
	} {
		if got := Default.Rate(Received{c.bytes, c.took, c.idle}); got != c.want {
			t.Errorf("%s: %d bytes per second, not %d", name, got, c.want)
		}
	}
}
