package leave

import (
	"time"

	"github.com/phalanx-go/phalanx"
)

// Config fixes how a node leaves.
type Config struct {
	Deadline time.Duration // on the node's clock
	Awaits   time.Duration // until then others may enter the cluster, which this node has begun anew; 0: it has not
	AtOnce   int           // large copies that are asked about at a time; 0: 16. Of small ones it is 16 times as many
}

// Event is something that a Core hears of.
type Event interface{ event() }

type (
	// Start begins.
	Start struct{}

	// Viewed tells of the present view, and of each new one.
	Viewed struct {
		Number uint64
		Left   uint64           // the number of the view since which handing over counts
		Member bool             // the node is one
		Marked bool             // as leaving
		Others int              // members besides it
		Stay   int              // members that do not leave as well
		Shards int              // whose owner, backup or next it is, and which have to move away first
		Owners []phalanx.NodeID // of each shard
	}

	// Saw answers Look.
	Saw struct{ Here }

	// Waits tells that the owner of a copy waits until others keep it; Answered follows.
	Waits struct {
		Copy
		Node phalanx.NodeID
	}

	// Answered is the answer of a copy's owner: with Kind 0, others keep it.
	Answered struct {
		Copy
		Kind phalanx.Kind
		Node phalanx.NodeID // that has said so
		Text string
	}

	// Lost tells whether the majority of the voters is lost, so that no view is decided, and
	// how many of the members that stay are known to be gone.
	Lost struct {
		Majority bool
		Gone     int
	}

	// Cancel tells that the caller does not want to wait any longer.
	Cancel struct{}

	// Tick lets time pass.
	Tick struct{}
)

// Copy is a complete copy on the node.
type Copy struct {
	Object phalanx.ObjectID
	Gen    phalanx.Generation
	Shard  int  // that it belongs to
	Small  bool // to ask about it takes longer than to copy it
}

// Here lists the node's objects that are being put, targets of places and of Reduces
// that run, and copies that were made here and are not final yet.
type Here struct {
	Puts, Places, Reduces, Making []phalanx.ObjectID
	Services                      []string // that have something which others do not have yet
	Durable                       bool     // one of Services has it on a disk, and begins clusters anew
	Copies                        []Copy   // complete; only if All
	All                           bool
}

// runs reports whether something has not ended.
func (h Here) runs() bool {
	return len(h.Puts)+len(h.Places)+len(h.Reduces)+len(h.Making)+len(h.Services) > 0
}

func (Start) event()    {}
func (Viewed) event()   {}
func (Saw) event()      {}
func (Waits) event()    {}
func (Answered) event() {}
func (Lost) event()     {}
func (Cancel) event()   {}
func (Tick) event()     {}

// Effect is something that a Core asks its host to do.
type Effect interface{ effect() }

type (
	// Refuse has the node take nothing new from now on. It comes first, and nothing
	// ends it.
	Refuse struct{}

	// Mark proposes that the view marks the node as leaving.
	Mark struct{}

	// Stay has the node take everything again, and takes back the mark. Failed follows.
	Stay struct{}

	// Look asks for a Here: with All for the complete copies too.
	Look struct{ All bool }

	// Ask has the owner of a copy see that others keep it, and answer by no view
	// before View; Answered follows.
	Ask struct {
		Copy
		View uint64
	}

	// Forget takes Ask back.
	Forget struct{ Copy }

	// GiveUp ends running work: its callers learn that the node leaves. The node goes without
	// handing over what Services have, which other members may have too.
	GiveUp struct{ Services []string }

	// Remove proposes to remove the node from the view. As of View, others keep all its
	// copies.
	Remove struct{ View uint64 }

	// Left ends it: the node may go.
	Left struct {
		Fenced bool // the others have removed it before Remove, and may not keep its copies, and some of them stay
		Alone  bool // no other member stays, or all that stay are gone: its copies go with it
		Unseen bool // it has handed over all, and no view says that it is removed
	}

	// Failed ends it: the node goes on being a member.
	Failed struct {
		Remains  Remains
		Canceled bool
	}
)

func (Refuse) effect() {}
func (Stay) effect()   {}
func (Mark) effect()   {}
func (Look) effect()   {}
func (Ask) effect()    {}
func (Forget) effect() {}
func (GiveUp) effect() {}
func (Remove) effect() {}
func (Left) effect()   {}
func (Failed) effect() {}
