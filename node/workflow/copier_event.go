package workflow

import (
	"github.com/phalanx-go/phalanx"
)

// CopierEvent is what a Copier hears.
type CopierEvent interface{ copierEvent() }

type (
	// Disks is a view: the members with disks.
	Disks struct {
		View    uint64
		Self    phalanx.NodeID
		Leaving bool             // this node leaves
		Others  []phalanx.NodeID // that do not leave
	}

	// Held says that the disk of this node has checkpoints.
	Held struct{ Places []string }

	// NotHeld says that it has them no more.
	NotHeld struct{ Places []string }

	// Counted brings the answer of a member.
	Counted struct {
		From  phalanx.NodeID
		These These
	}

	// Laid says that the bytes of a CopyTo are an object that was sent.
	Laid struct {
		Number uint64
		Size   int64 // in bytes
	}

	// NotLaid says that a CopyTo has failed here.
	NotLaid struct {
		Number uint64
		Gone   bool // the disk does not have the checkpoint, or not its bytes
	}

	// CopyEnded brings the answer of the member that was to copy.
	CopyEnded struct {
		From   phalanx.NodeID
		Copied Copied
	}
)

func (Disks) copierEvent()     {}
func (Held) copierEvent()      {}
func (NotHeld) copierEvent()   {}
func (Counted) copierEvent()   {}
func (Laid) copierEvent()      {}
func (NotLaid) copierEvent()   {}
func (CopyEnded) copierEvent() {}
func (Tick) copierEvent()      {}

// CopierEffect is what the host of a Copier must do.
type CopierEffect interface{ copierEffect() }

type (
	// AskWhich sends a Which to a member.
	AskWhich struct {
		To    phalanx.NodeID
		Which Which
	}

	// CopyTo asks to have a member copy a checkpoint of this disk: the host puts its bytes as an object of its own, sends a Copy
	// with the Number, and answers with Laid or NotLaid. The object stays until DropCopy.
	CopyTo struct {
		Number uint64
		To     phalanx.NodeID
		Place  string
	}

	// DropCopy asks to delete the object of a CopyTo.
	DropCopy struct{ Number uint64 }

	// Remains says how many checkpoints the node has to hand over before it may leave, as of a view.
	Remains struct {
		View uint64
		Left int
	}

	// StaysBehind says, once each time that the node leaves, that no member with a disk stays that could take its checkpoints.
	StaysBehind struct{ Checkpoints int }
)

func (AskWhich) copierEffect()    {}
func (CopyTo) copierEffect()      {}
func (DropCopy) copierEffect()    {}
func (Remains) copierEffect()     {}
func (StaysBehind) copierEffect() {}
