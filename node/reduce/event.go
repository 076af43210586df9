package reduce

import (
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	core "github.com/phalanx-go/phalanx/protocol/reduce"
)

// Event is an input of a Run.
type Event interface{ event() }

// The events.
type (
	// Start is the first event. Leaving are the members that are about to leave.
	Start struct{ Leaving []phalanx.NodeID }
	// Answered brings an owner's answer to an Ask.
	Answered struct {
		Num    uint64
		From   phalanx.NodeID
		Result directory.Result
	}
	// Told brings an owner's readiness for a Watch.
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
	// Reported brings a report of a place or of its node. Place names the place's actor among
	// all nodes' actors; it is empty if no actor has sent the report.
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
	// Made says that this node has a final copy of the target.
	Made struct {
		Gen    phalanx.Generation
		Meta   phalanx.Meta
		Digest phalanx.Digest
	}
	// Canceled says that the caller waits no longer, and brings its error.
	Canceled struct{ Err *phalanx.Error }
	// Failed is the last event of an instance that has panicked.
	Failed struct{}
	// Stopped is the last event of a Run that the host does not begin again. Closing: the node
	// ends, and the view releases the target.
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

// Effect is an order to the host of a Run.
type Effect interface{ effect() }

// The effects.
type (
	// Ask sends a request about the target to its owner, and repeats it until Answered or
	// Forget. The host is impatient for the answer.
	Ask struct {
		Num  uint64
		Body directory.Body
	}
	// Withdraw sends a request about the target whose answer no caller waits for.
	Withdraw struct {
		Num  uint64
		Body directory.Body
	}
	// Watch has the owner of an object tell its readiness, by Told. The host is impatient
	// if the object is the target.
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
	// WatchPlace asks for PlaceEnded when the actor that has sent the report ends.
	WatchPlace struct{ Place string }
	// Combine combines small sources, instead of any Combine before. The host gets sources
	// whose Bytes are nil, in the given generation, until the caller's time is over.
	Combine struct {
		core.CombineInline
		Attempt uint64
		Bytes   [][]byte
		Until   time.Duration // 0: for ever
	}
	// Answer is the answer to the caller: Result and the target's Meta, or Err.
	Answer struct {
		Result core.Result
		Meta   phalanx.Meta
		Err    *phalanx.Error
	}
	// Does tells an observer an effect of the core, before the Run carries it out.
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
