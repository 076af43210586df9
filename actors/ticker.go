package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Tick is the message of a Ticker.
type Tick struct{ of *Ticker }

// Ticker sends an actor a Tick again and again while the instance that made it
// lives. The next one is due only when the last was handled: a slow actor gets
// fewer ticks, not a full mailbox, and an instance that is gone gets none.
//
//	func (a *Actor) Receive(c actor.Context) {
//		if a.ticker.Due(c) {
//			a.step(Tick{Now: a.clock()})
//			return
//		}
//		switch m := c.Message().(type) { …
type Ticker struct {
	every time.Duration
	timer *time.Timer
	next  time.Time
}

// NewTicker returns a Ticker for the instance of an actor that is being made.
func NewTicker(every time.Duration) *Ticker { return &Ticker{every: every} }

// Due must be called first for every message. It reports whether the message is
// a tick of t. The actor must ignore a *Tick of which that is not so: it was
// meant for an earlier instance.
func (t *Ticker) Due(c actor.Context) bool {
	switch m := c.Message().(type) {
	case *actor.Started:
		t.next = time.Now()
		t.arm(c)
	case *actor.Stopping, *actor.Restarting:
		if t.timer != nil {
			t.timer.Stop()
			t.timer = nil
		}
	case *Tick:
		if m.of == t && t.timer != nil {
			t.arm(c)
			return true
		}
	}
	return false
}

// arm sets the timer for the next multiple of the period that is not over yet.
func (t *Ticker) arm(c actor.Context) {
	now := time.Now()
	t.next = t.next.Add(t.every)
	if t.next.Before(now) {
		t.next = now.Add(t.every)
	}
	root, self := c.ActorSystem().Root, c.Self()
	t.timer = time.AfterFunc(t.next.Sub(now), func() { root.Send(self, &Tick{of: t}) })
}
