package dataplane

import (
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx"
)

// Reason says how a stream ended.
type Reason uint8

// How a stream can end.
const (
	Complete Reason = iota + 1 // everything arrived and is checked
	Reset                      // the sender has a greater generation
	Busy                       // the sender serves others
	Gone                       // the sender has no such bytes, or gave up; Kind says why
	Stalled                    // the sender is silent
	Broken                     // the connection ended, or the peer broke the protocol
	Corrupt                    // a piece is bad or, with Piece -1, the digest
	NoRoom                     // a buffer of unknown size cannot grow now
	Closed                     // by this side
)

var reasons = [...]string{Complete: "complete", Reset: "reset", Busy: "busy", Gone: "gone", Stalled: "stalled",
	Broken: "broken", Corrupt: "corrupt", NoRoom: "no room", Closed: "closed"}

func (r Reason) String() string {
	if r == 0 || int(r) >= len(reasons) {
		return fmt.Sprintf("reason %d", uint8(r))
	}
	return reasons[r]
}

// Ended is the end of a stream, with the details of its Reason. As an error it is of Kind.
type Ended struct {
	Reason     Reason
	Node       phalanx.NodeID     // the sender
	Generation phalanx.Generation // Reset: of a Place, Epoch is the attempt
	Piece      int64              // Corrupt
	Kind       phalanx.Kind       // zero when complete
	Err        error
	Idle       time.Duration // Complete: how long the sender had nothing to send
}

func (e *Ended) Error() string {
	s := fmt.Sprintf("the stream from node %s ended: %v", e.Node, e.Reason)
	switch e.Reason {
	case Reset:
		s += " to generation " + e.Generation.String()
	case Corrupt:
		s += fmt.Sprintf(" at piece %d", e.Piece)
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Ended) Unwrap() error { return e.Err }

// Is reports whether target is e's Kind.
func (e *Ended) Is(target error) bool {
	k, ok := target.(phalanx.Kind)
	return ok && k == e.Kind
}

var kindOf = [...]phalanx.Kind{Reset: phalanx.ErrReset, Busy: phalanx.ErrUnavailable, Gone: phalanx.ErrAborted,
	Stalled: phalanx.ErrUnavailable, Broken: phalanx.ErrUnavailable, Corrupt: phalanx.ErrCorrupt,
	NoRoom: phalanx.ErrNoSpace, Closed: phalanx.ErrCanceled}
