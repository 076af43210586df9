package store

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
			var d downlink
			for _, s := range streams {
				d.received(s.mb<<20, s.took, s.idle, s.at)
				if got := d.known(s.at) >> 20; got != s.want {
					t.Errorf("after %+v: %d MB/s", s, got)
				}
			}
			if got := d.known(time.Hour); got != 0 {
				t.Errorf("after an hour: %d", got)
			}
		})
	}
}
