package view

import (
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx"
)

// Effect is everything a Core asks its shell to do. Nothing that is sent needs
// to arrive.
type Effect interface {
	fmt.Stringer
	effect()
}

type (
	// Send asks to bring Data to the voter To, as Receive.
	Send struct {
		To   phalanx.NodeID
		Data []byte // the shell's to keep
	}

	// Push asks to bring View to the member To, as Learn.
	Push struct {
		To   phalanx.NodeID
		Term uint64 // of this leader; 0 if this node is none
		View View
	}

	// SendBeat asks to bring Beat to the leader To, as HearBeat. If By is not empty, that
	// member relays it.
	SendBeat struct {
		To   phalanx.NodeID
		By   phalanx.NodeID
		Beat Beat
	}

	// Unanswered says that the leader Node does not reply to heartbeats: the link to it may
	// fail in one direction or both. The detector is to look at it.
	Unanswered struct{ Node phalanx.NodeID }

	// SendReply asks to bring Reply to the member To, as HearReply.
	SendReply struct {
		To    phalanx.NodeID
		Reply Reply
	}

	// Forward asks to bring Command to To, which is the leader or nearer to
	// it, as Propose. A Forward that was Relayed is not passed on again.
	Forward struct {
		To      phalanx.NodeID
		Relayed bool
		Command Command
	}

	// Publish tells the own node the view that counts from now on.
	Publish struct{ View View }

	// Lease says that the own node may answer and confirm until Until.
	Lease struct{ Until time.Duration }

	// Lead names the leader, as far as this node knows.
	Lead struct {
		Term   uint64
		Leader phalanx.NodeID
	}

	// Fenced says that the own node is no member any more, or never will be
	// because a later incarnation is. The Core does nothing from now on.
	Fenced struct{}

	// Settled says that a command of the own node is visible in the view that
	// was published, or void.
	Settled struct{ Command Command }

	// GaveUp says that a command of the own node did not become visible. It
	// may still do. The part of the node that proposed it proposes it again by itself as
	// long as it is needed: the host only notes it.
	GaveUp struct{ Command Command }

	// SendHalt asks to bring Halt to the member To, as HearHalt.
	SendHalt struct {
		To   phalanx.NodeID
		Halt Halt
	}

	// SendHalted asks to bring Halted to the member To, as HearHalted.
	SendHalted struct {
		To     phalanx.NodeID
		Halted Halted
	}

	// Formed says that this node, which was told to, has formed the cluster anew. View is
	// the first of the form.
	Formed struct{ View View }

	// NotFormed says why it has not.
	NotFormed struct{ Err *phalanx.Error }

	// Reject says that a message of From was refused and changed nothing.
	Reject struct {
		From phalanx.NodeID
		Err  error
	}
)

func (Send) effect()       {}
func (Push) effect()       {}
func (SendBeat) effect()   {}
func (Unanswered) effect() {}
func (SendReply) effect()  {}
func (Forward) effect()    {}
func (Publish) effect()    {}
func (Lease) effect()      {}
func (Lead) effect()       {}
func (Fenced) effect()     {}
func (Settled) effect()    {}
func (GaveUp) effect()     {}
func (SendHalt) effect()   {}
func (SendHalted) effect() {}
func (Formed) effect()     {}
func (NotFormed) effect()  {}
func (Reject) effect()     {}
