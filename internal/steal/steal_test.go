package steal

import (
	"runtime"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for stat, want := range map[string]time.Duration{
		"cpu  10 0 20 3000 4 0 5 678 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n": 6780 * time.Millisecond,
		"cpu  10 0 20 3000 4 0 5\n":                                    0, // of an old kernel
		"cpu  10 0 20 3000 4 0 5 x 0 0\n":                              0,
		"":                                                             0,
	} {
		if got := parse(stat); got != want {
			t.Errorf("%q: %v, want %v", stat, got, want)
		}
	}
}

func TestShare(t *testing.T) {
	cores := time.Duration(runtime.NumCPU())
	if got := Share(cores*time.Second, 4*time.Second); got != 0.25 {
		t.Errorf("a second of each core in four: %v", got)
	}
	if got := Share(time.Second, 0); got != 0 {
		t.Errorf("in no time: %v", got)
	}
}
