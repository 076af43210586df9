package reduce

import (
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	core "github.com/phalanx-go/phalanx/protocol/reduce"
)

// Event is what happens to a Run.
type Event interface{ event() }

// The events.
type (
	// Start is the first one. Leaving are the members that are about to leave.
	Start struct{ Leaving []phalanx.NodeID }
	// Answered brings an owner's answer to an Ask.
	Answered struct {
		Num    uint64
		From   phalanx.NodeID
		Result directory.Result
	}
	// Told brings what an owner tells to a Watch.
	Told struct {
		Num       uint64
		Readiness directory.Readiness
	}
	// Silent says that the owner of the target has not answered an Ask or a Watch for
	// some seconds.
	Silent struct {
		Num uint64
		Err *phalanx.Error
	}
	// Reported brings what a place says, or its node. Place names the place's actor among
	// all nodes'; it is empty if none has sent the report.
	Reported struct {
		Target phalanx.ObjectID
		Reduce phalanx.Generation
		Place  string
		Event  core.Event
	}
	// PlaceEnded says that the actor of a WatchPlace has ended, or with Broke that the
	// connection to its node broke.
	PlaceEnded struct {
		Place string
		Broke bool
	}
	// Combined answers a Combine by InlineDone with the bytes, or by InlineFailed.
	Combined struct {
		Attempt uint64
		Seq     uint64
		Event   core.Event
		Bytes   []byte
	}
	// NodeGone says that a node is suspected, or with Down that it has left the view.
	NodeGone struct {
		Node phalanx.NodeID
		Down bool
	}
	// Leaving says which members are about to leave.
	Leaving struct{ Nodes []phalanx.NodeID }
	// Made says that the target is seen to be final on this node.
	Made struct {
		Gen    phalanx.Generation
		Meta   phalanx.Meta
		Digest phalanx.Digest
	}
	// Canceled says that the caller waits no longer, and what it is told.
	Canceled struct{ Err *phalanx.Error }
	// Failed is the last event of an instance that has panicked.
	Failed struct{}
	// Stopped is the last event of a Run that is not begun again. Closing: the node ends,
	// and the view releases the target.
	Stopped struct{ Closing bool }
	// Tick is due when Due says so.
	Tick struct{}
)

func (Start) event()      {}
func (Answered) event()   {}
func (Told) event()       {}
func (Silent) event()     {}
func (Reported) event()   {}
func (PlaceEnded) event() {}
func (Combined) event()   {}
func (NodeGone) event()   {}
func (Leaving) event()    {}
func (Made) event()       {}
func (Canceled) event()   {}
func (Failed) event()     {}
func (Stopped) event()    {}
func (Tick) event()       {}

// Effect is what the host of a Run has to do.
type Effect interface{ effect() }

// The effects.
type (
	// Ask sends a request about the target to its owner, again until it is answered by
	// Answered, or forgotten. The host is impatient for the answer.
	Ask struct {
		Num  uint64
		Body directory.Body
	}
	// Withdraw sends a request about the target whose answer nobody waits for.
	Withdraw struct {
		Num  uint64
		Body directory.Body
	}
	// Watch has the owner of an object tell about it, by Told. The host is impatient if
	// the object is the target.
	Watch struct {
		Num    uint64
		Object phalanx.ObjectID
	}
	// Forget ends an Ask or a Watch.
	Forget struct{ Num uint64 }
	// Order sends an order to the places of a member.
	Order struct {
		To    phalanx.NodeID
		Order core.Effect
	}
	// Join sends Joined to the coordinator at a member that runs the same Reduce.
	Join struct {
		To     phalanx.NodeID
		Reduce phalanx.Generation
		Joined core.Joined
	}
	// WatchPlace has PlaceEnded told when the actor that has sent the report ends.
	WatchPlace struct{ Place string }
	// Combine combines small sources, instead of those before. The host gets those whose
	// Bytes are nil, of the generation that was named, until the caller's time is over.
	Combine struct {
		core.CombineInline
		Attempt uint64
		Bytes   [][]byte
		Until   time.Duration // 0: for ever
	}
	// Answer is the caller's: Result, and what kind of object the target is, or Err.
	Answer struct {
		Result core.Result
		Meta   phalanx.Meta
		Err    *phalanx.Error
	}
	// Does tells an observer what the core does, before that is carried out.
	Does struct{ core.Effect }
	// End ends the host's actor: nothing is left to do.
	End struct{}
)

func (Ask) effect()        {}
func (Withdraw) effect()   {}
func (Watch) effect()      {}
func (Forget) effect()     {}
func (Order) effect()      {}
func (Join) effect()       {}
func (WatchPlace) effect() {}
func (Combine) effect()    {}
func (Answer) effect()     {}
func (Does) effect()       {}
func (End) effect()        {}
