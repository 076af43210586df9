package timer

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A timer of the kernel that cannot be waited for is replaced by a usual one, also while it is
// set, and comes due.
func TestATimerThatCannotBeRead(t *testing.T) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = unix.Close(fd) }()
	unread, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fired := timed(t, func(fire func()) impl { return newPolled(fire, unread, fd) })
	for i := range 3 {
		began := time.Now()
		fired.Set(10 * time.Millisecond)
		if i == 0 {
			_ = end.Close() // now it can be read no more
		}
		if took := (<-fired.at).Sub(began); took < 10*time.Millisecond {
			t.Errorf("it came after %v", took)
		}
	}
	fired.Set(time.Hour)
	fired.Stop()
	fired.Set(time.Hour)
	fired.Close()
	fired.Set(0)
	if n := len(fired.at); n > 0 {
		t.Errorf("it came %d times too often", n)
	}
}
