package timer

import (
	"sync"
	"time"
)

// usual is a timer of package time.
type usual struct {
	fire func()

	mu     sync.Mutex
	timer  *time.Timer // nil: not set
	closed bool
}

func (u *usual) set(after time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.halt()
	if u.closed {
		return
	}
	var t *time.Timer
	t = time.AfterFunc(after, func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.timer == t {
			u.timer = nil
			u.fire()
		}
	})
	u.timer = t
}

func (u *usual) stop() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.halt()
}

func (u *usual) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	u.halt()
}

func (u *usual) halt() {
	if u.timer != nil {
		u.timer.Stop()
		u.timer = nil
	}
}
