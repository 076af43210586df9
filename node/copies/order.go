package copies

import (
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// OrderLasts is how long a node tries to carry out an order to copy. The owner repeats the order
// every second for as long as it is needed, which begins the time anew, and may die.
const OrderLasts = 10 * time.Second

// Here is a node's state of an object.
type Here struct {
	Gen     phalanx.Generation // of its copy; zero: it has none
	Whole   bool               // the copy is complete
	Origin  bool               // this node makes it
	Busy    bool               // a fetch or a Put works on the object
	Awaited bool               // a call of an order waits for the copy
	Leaves  bool               // the node is about to leave the cluster, and takes nothing new
}

// Of returns h with the state of c, the node's copy; nil: there is none.
func (h Here) Of(c *Copy) Here {
	if c != nil {
		h.Gen, h.Whole, h.Origin = c.Gen, c.Complete, c.Origin
	}
	return h
}

// Verdict has the consequences of an owner's order, to be carried out from the first field to
// the last. The zero Verdict ignores the order: the owner repeats it if it still counts.
type Verdict struct {
	Check    bool               // answer with the digest of the bytes
	Fetch    bool               // fetch the object in order to keep it, pinned
	Spare    bool               // end that call
	Settle   bool               // the copy of the origin is complete, if it has the order's digest
	Drop     Why                // drop the copy, and why
	Announce bool               // tell the owner that the copy is complete
	Gone     phalanx.Generation // tell the owner that there is no copy of it; zero: of none
	Ack      bool               // tell the owner that the order was carried out
}

// Why is the reason for which a copy is dropped.
type Why uint8

// The reasons.
const (
	Stays   Why = iota
	Deleted     // the object was deleted
	Aborted     // its creator gave up, or its binding was released
	Reset       // there is a newer generation
)

// Forwarded reports whether the node hands an order to the fetch and the Puts that work on the
// object before it obeys it. epoch is the epoch of the object's shard in the node's view.
func Forwarded(p directory.Push, epoch uint64) bool {
	return p.Order <= directory.PushDrop && !p.Outdated(epoch)
}

// Obey decides the consequences of an order.
func Obey(p directory.Push, epoch uint64, here Here) Verdict {
	switch {
	case p.Outdated(epoch):
		return Verdict{}
	case p.Order == directory.PushCheck:
		return Verdict{Check: true}
	case p.Order == directory.PushCopy:
		// A node that leaves fetches nothing: the owner asks another one once it knows.
		return Verdict{Fetch: !here.Awaited && !here.Leaves, Ack: true}
	case p.Order == directory.PushSpare:
		return Verdict{Spare: here.Awaited, Ack: true}
	}
	v := Verdict{Ack: true}
	has := !here.Gen.IsZero()
	switch p.Order {
	case directory.PushFinal:
		switch {
		case !has && !here.Busy: // a root's copy that was lost since
			v.Gone = p.Gen
		case has && here.Gen == p.Gen && here.Origin && !here.Whole:
			v.Settle = true
		case has && here.Gen == p.Gen && here.Whole: // the owner does not know that it is complete
			v.Announce = true
		}
	case directory.PushDrop:
		if has && !p.Gen.Less(here.Gen) {
			v.Drop = Deleted
		}
	case directory.PushAbort:
		// A busy fetch or Put drops a part itself. The owner hears that a complete copy is gone:
		// a report that it is complete may be on its way.
		if has && !p.Gen.Less(here.Gen) && (here.Whole || !here.Busy) {
			if v.Drop = Aborted; here.Whole {
				v.Gone = here.Gen
			}
		}
	case directory.PushReset:
		// A complete copy may come from a fetch that has just ended.
		if has && here.Gen.Less(p.Gen) && (here.Whole || !here.Busy) {
			v.Drop = Reset
		}
	}
	return v
}
