package sim

import (
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx"
)

const (
	restFor   = 12 * time.Second // until the last repeat and the last look at a lease are over
	silentFor = 5 * time.Second
	listened  = 8 // one of so many runs: listening takes long
)

// silence checks (26): a world with nothing left to do sends only messages that keep members and
// views together.
func (w *world) silence() {
	if w.seed%listened != 0 {
		return
	}
	never := func() bool { return false }
	w.until(w.now+restFor, never)
	w.listens = true
	w.until(w.now+silentFor, never)
	w.listens = false
	w.met["silence"]++
}

// overhear checks a message that a node sends while all should be silent.
func (w *world) overhear(from, to phalanx.NodeID, m any) {
	if !w.listens {
		return
	}
	switch m := m.(type) {
	case toView, pushView, beat, reply, joinReply:
	case letter:
		s := w.services[m.service]
		if s.silent && (s.resumer == nil || !s.resumer.Quiet(m.message)) {
			w.fail("(26) the world has nothing left to do, and %s sends %T%+v to %s", from, m.message, m.message, to)
		}
	case carried:
		w.overhear(m.from, m.to, m.message)
	default:
		w.fail("(26) the world has nothing left to do, and %s sends %s to %s", from, fmt.Sprintf("%T%+v", m, m), to)
	}
}
