package detect

import (
	"time"

	"github.com/phalanx-go/phalanx"
)

// Event is an input of a Core. Now is the host's clock; a queued event may be older
// than the one before.
type Event interface{ at() time.Duration }

type (
	// Changed tells the members of the view, in its order.
	Changed struct {
		Members []phalanx.NodeID
		Voters  []phalanx.NodeID
		Now     time.Duration
	}

	// Tick tells the time, the peers that have open streams, the peers whose answers are
	// overdue, and when another answer will be (0: none is due).
	Tick struct {
		Streams []phalanx.NodeID
		Overdue []phalanx.NodeID
		Owed    time.Duration
		Now     time.Duration
	}

	// Echoed says that a heartbeat of this node to Node came back.
	Echoed struct {
		Node phalanx.NodeID
		Now  time.Duration
	}

	// Heard says that a heartbeat of Node came, which the host sends back.
	Heard struct {
		Node phalanx.NodeID
		Now  time.Duration
	}

	// Broken says that a connection with Node ended by itself, or could not be
	// made for another reason than Refuses.
	Broken struct {
		Node phalanx.NodeID
		Now  time.Duration
	}

	// Refuses says that no process listens at Node's address, or another one does:
	// a later incarnation, for example.
	Refuses struct {
		Node phalanx.NodeID
		Now  time.Duration
	}

	// Accused says that the member By suspects Node, or with Cause Trusted that
	// it does not any more. An Accused that was sent before another, and comes after it,
	// does not count.
	Accused struct {
		By    phalanx.NodeID
		Node  phalanx.NodeID
		Cause Cause
		Told  time.Duration // by By's clock
		Now   time.Duration
	}
)

func (e Changed) at() time.Duration { return e.Now }
func (e Tick) at() time.Duration    { return e.Now }
func (e Echoed) at() time.Duration  { return e.Now }
func (e Heard) at() time.Duration   { return e.Now }
func (e Broken) at() time.Duration  { return e.Now }
func (e Refuses) at() time.Duration { return e.Now }
func (e Accused) at() time.Duration { return e.Now }

// Cause is why a node is suspected.
type Cause uint8

// The causes, the stronger the greater.
const (
	Trusted Cause = iota // it is not
	Silent               // heartbeats do not come back
	Refused              // its process is gone
)

func (c Cause) String() string {
	switch c {
	case Trusted:
		return "trusted"
	case Silent:
		return "silent"
	case Refused:
		return "connection refused"
	}
	return "unknown cause"
}
