package timer

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Every kind of timer comes due once each time that it is set, when it was set last, and
// not after it was stopped or closed.
func TestTimer(t *testing.T) {
	for name, of := range map[string]func(func()) impl{
		"of this system": newImpl,
		"usual":          func(fire func()) impl { return &usual{fire: fire} },
	} {
		t.Run(name, func(t *testing.T) {
			fired := timed(t, of)
			for range 3 {
				fired.Set(0)
				<-fired.at
			}
			began := time.Now()
			fired.Set(time.Hour)
			fired.Set(time.Hour)
			fired.Set(20 * time.Millisecond)
			if took := (<-fired.at).Sub(began); took < 20*time.Millisecond {
				t.Errorf("it came after %v", took)
			}
			fired.Set(time.Millisecond)
			fired.Set(time.Hour) // it may have come due
			fired.Stop()
			fired.Set(30 * time.Millisecond)
			fired.Stop()
			fired.Close()
			fired.Close()
			fired.Set(0)
			fired.Stop()
			if n := len(fired.at); n > 1 {
				t.Errorf("it came %d times too often", n)
			}
		})
	}
}

type fires struct {
	*Timer
	at chan time.Time
}

func timed(t *testing.T, of func(func()) impl) fires {
	f := fires{at: make(chan time.Time, 100)}
	f.Timer = &Timer{of(func() { f.at <- time.Now() })}
	t.Cleanup(f.Close)
	return f
}
