package actors

import "time"

// Alarm is the one timer of a core that is hosted behind a mutex: it wakes the host when the
// core's Due says so. All methods but C need that mutex.
//
//	for {
//		select {
//		case <-ctx.Done():
//			return
//		case <-alarm.C():
//			mu.Lock()
//			alarm.Rang()
//			effects := core.Step(clock(), Tick{})
//			alarm.Set(core.Due())
//			…
type Alarm struct {
	clock func() time.Duration
	timer *time.Timer
	at    time.Duration // when it rings
	set   bool
}

// NewAlarm returns an alarm that is not set.
func NewAlarm(clock func() time.Duration) *Alarm {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return &Alarm{clock: clock, timer: t}
}

// Set has it ring at the given time, unless it rings earlier anyway: to stop it would cost more
// than to wake up for nothing.
func (a *Alarm) Set(at time.Duration, ok bool) {
	if !ok || a.set && a.at <= at {
		return
	}
	a.at, a.set = at, true
	a.timer.Reset(at - a.clock())
}

// Rang notes that it has rung, and has to be set again.
func (a *Alarm) Rang() { a.set = false }

// C delivers when it rings.
func (a *Alarm) C() <-chan time.Time { return a.timer.C }

// Stop keeps it from ringing.
func (a *Alarm) Stop() {
	a.timer.Stop()
	a.set = false
}
