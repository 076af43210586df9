package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Timers are the one-shot timers of one instance of an actor, by key. The zero
// value has none. A timer that was cancelled or replaced is never due, even if
// its message was on its way, and none outlives the instance.
type Timers[K comparable] struct {
	set map[K]*timer
}

// Fired is the message of a timer.
type Fired struct{ timer *timer }

type timer struct {
	key   any
	timer *time.Timer
}

// Set makes key due after d, and replaces an earlier timer of that key.
func (t *Timers[K]) Set(c actor.Context, key K, d time.Duration) {
	t.Cancel(key)
	if t.set == nil {
		t.set = map[K]*timer{}
	}
	root, self := c.ActorSystem().Root, c.Self()
	one := &timer{key: key}
	one.timer = time.AfterFunc(d, func() { root.Send(self, &Fired{timer: one}) })
	t.set[key] = one
}

// Cancel drops the timer of key, if there is one.
func (t *Timers[K]) Cancel(key K) {
	if one, ok := t.set[key]; ok {
		one.timer.Stop()
		delete(t.set, key)
	}
}

// Due must be called first for every message. It reports whether the message
// says that a timer is due, and of which key. The actor must ignore a *Fired of
// which that is not so.
func (t *Timers[K]) Due(c actor.Context) (key K, due bool) {
	switch m := c.Message().(type) {
	case *actor.Stopping, *actor.Restarting:
		for _, one := range t.set {
			one.timer.Stop()
		}
		clear(t.set)
	case *Fired:
		k, ok := m.timer.key.(K)
		if ok && t.set[k] == m.timer {
			delete(t.set, k)
			return k, true
		}
	}
	return key, false
}
