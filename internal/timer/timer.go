package timer

import "time"

// Timer calls a function when its time has come, on a goroutine of its own. It is safe for
// concurrent use, but the function must neither block nor call it.
type Timer struct{ impl }

type impl interface {
	set(after time.Duration)
	stop()
	close()
}

// New returns a Timer that is not set. The caller must call Close.
func New(fire func()) *Timer { return &Timer{newImpl(fire)} }

// Set has it come due after so long, and not when it was to before. It may just have come due.
func (t *Timer) Set(after time.Duration) { t.set(after) }

// Stop keeps it from coming due before it is set again. It may just have come due.
func (t *Timer) Stop() { t.stop() }

// Close ends it. The function is not called any more when Close returns. Closing twice is
// safe.
func (t *Timer) Close() { t.close() }
