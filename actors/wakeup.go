package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Wakeup is the one timer of a core that an actor hosts: it sends the actor a message when the
// core's Due says so. It belongs to one instance of the actor, and ends with it; the zero value is
// not set.
//
//	func (a *Actor) Receive(c actor.Context) {
//		if a.wakeup.Due(c) {
//			a.step(Tick{})
//			return
//		}
//		switch m := c.Message().(type) { …
//
//	func (a *Actor) step(c actor.Context, ev Event) {
//		effects := a.core.Step(a.clock(), ev)
//		…
//		at, ok := a.core.Due()
//		a.wakeup.Set(c, a.clock(), at, ok)
type Wakeup struct {
	timer *time.Timer
	at    time.Duration // when it comes
	set   bool
}

// Woken is the message of a Wakeup.
type Woken struct{ by *Wakeup }

// Set has it come at the given time, unless it comes earlier anyway: to move it would cost more
// than to wake up for nothing. It does not come at all if ok is false.
func (w *Wakeup) Set(c actor.Context, now, at time.Duration, ok bool) {
	switch {
	case !ok:
		w.stop()
	case w.set && w.at <= at:
	case w.timer == nil:
		root, self, woken := c.ActorSystem().Root, c.Self(), &Woken{w}
		w.timer = time.AfterFunc(at-now, func() { root.Send(self, woken) })
		w.at, w.set = at, true
	default:
		w.timer.Reset(at - now)
		w.at, w.set = at, true
	}
}

// Due must be called first for every message. It reports whether the message says that the time
// has come; Set has to be called again then. The actor must ignore a *Woken for which Due
// returns false.
func (w *Wakeup) Due(c actor.Context) bool {
	switch m := c.Message().(type) {
	case *actor.Stopping, *actor.Restarting:
		w.stop()
	case *Woken:
		if m.by == w && w.set {
			w.set = false
			return true
		}
	}
	return false
}

func (w *Wakeup) stop() {
	if w.set {
		w.timer.Stop()
		w.set = false
	}
}
