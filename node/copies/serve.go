package copies

import (
	"time"

	"github.com/phalanx-go/phalanx"
)

// SlotPatience is how long a sender waits for a receiver that is about to end before it says BUSY.
// Receivers report the end of a stream to the owner, which may be faster than the sender.
const SlotPatience = 100 * time.Millisecond

// Asked is a receiver that has asked for an object and gets no bytes yet.
type Asked struct {
	gen    phalanx.Generation
	beside bool
	hope   Hope
	full   bool          // there is a copy, and it has enough receivers
	since  time.Duration // of full
}

// NewAsked returns a receiver that asks now for generation gen. With beside its grant says that one
// of the sender's receivers does not count (specification 2.13).
func NewAsked(now time.Duration, gen phalanx.Generation, beside bool) Asked {
	return Asked{gen: gen, beside: beside, hope: NewHope(now)}
}

// Turn is a sender's next step for a receiver.
type Turn uint8

// The turns.
const (
	Awaits  Turn = iota // there is no such copy: say WAIT, and look again when one is shown, or after a while
	Queues              // the copy has enough receivers: look again in a moment
	Vain                // there is none: say GONE
	Newer               // there is a newer one: say RESET with its generation
	Full                // the copy has had enough receivers for too long: say BUSY
	Streams             // send the copy; Served ends that
)

// Turn decides the node's next step for a, which has asked for the object of c, the table's copy; nil:
// there is none. A part that has changed in memory counts as none: it goes soon. expected says that
// a fetch or a Put of this node works on the object. The owner counts leases, and this node the
// streams that it really sends: at most fanout of a copy, and one more beside a slow one.
func (t *Table) Turn(a *Asked, c *Copy, now time.Duration, expected bool, fanout int) Turn {
	if a.beside {
		fanout++
	}
	full := a.full
	a.full = false
	switch {
	case c == nil || c.Gen.Less(a.gen), c.Gen == a.gen && c.changed: // a fetch may wait for a later generation than the receiver does
		if a.hope.Ends(now, expected) {
			return Vain
		}
		return Awaits
	case a.gen.Less(c.Gen):
		return Newer
	case t.Serve(c, fanout):
		return Streams
	case !full:
		a.since = now
	case now-a.since >= SlotPatience:
		return Full
	}
	a.full = true
	return Queues
}
