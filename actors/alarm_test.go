package actors_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/phalanx-go/phalanx/actors"
)

// An alarm rings at the earliest time that was set, once.
func TestAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		clock := func() time.Duration { return time.Since(start) }
		a := actors.NewAlarm(clock)
		rings := func(want time.Duration) {
			t.Helper()
			select {
			case <-a.C():
				a.Rang()
				if clock() != want {
					t.Errorf("it rings at %v, want %v", clock(), want)
				}
			case <-time.After(time.Hour):
				if want != 0 {
					t.Errorf("it does not ring at %v", want)
				}
				start = time.Now()
			}
		}
		rings(0)
		a.Set(3*time.Second, true)
		a.Set(2*time.Second, true)
		a.Set(4*time.Second, true)
		a.Set(0, false) // it rings for nothing, rather than be stopped each time
		rings(2 * time.Second)
		rings(0)
		a.Set(-time.Second, true) // at once
		select {
		case <-a.C():
		case <-time.After(1):
			t.Error("it does not ring for what is due")
		}
	})
}

// Stop takes back a ring that nobody has heard yet, and the alarm can be set again.
func TestAlarmThatIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		a := actors.NewAlarm(func() time.Duration { return time.Since(start) })
		a.Set(time.Second, true)
		time.Sleep(2 * time.Second)
		a.Stop()
		select {
		case <-a.C():
			t.Error("it rings after Stop")
		case <-time.After(time.Hour):
		}
		a.Set(2*time.Hour, true)
		<-a.C()
		if at := time.Since(start); at != 2*time.Hour {
			t.Errorf("it rings at %v", at)
		}
	})
}
