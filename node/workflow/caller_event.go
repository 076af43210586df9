package workflow

import (
	"time"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// CallerEvent is what a Caller hears.
type CallerEvent interface{ callerEvent() }

type (
	// Call is a call of a client. It ends with Returned, or with Forsaken.
	Call struct {
		Number   uint64
		Call     core.Call     // of a StartRun without the Work
		Graph    []byte        // of StartRun
		Deadline time.Duration // 0: none, as long as some controller answers
	}

	// Forsaken says that the client does not wait any more.
	Forsaken struct{ Number uint64 }

	// Replied brings the reply of a controller.
	Replied struct {
		From  phalanx.NodeID
		Reply Reply
	}

	// Redirected brings the answer of a node that does not lead.
	Redirected struct {
		From      phalanx.NodeID
		Elsewhere Elsewhere
	}

	// Leads says that a node has the controller of an epoch.
	Leads struct {
		Node  phalanx.NodeID
		Epoch uint64
	}

	// Around is a view: the nodes that have the service, and those of them that have a folder.
	Around struct {
		Self  phalanx.NodeID
		Nodes []phalanx.NodeID
		Disks []phalanx.NodeID
		First phalanx.NodeID // that ever had a folder, also if it has left; "": none
	}

	// CallerTick says that the time of Due has come.
	CallerTick struct{}
)

func (Call) callerEvent()       {}
func (Forsaken) callerEvent()   {}
func (Replied) callerEvent()    {}
func (Redirected) callerEvent() {}
func (Leads) callerEvent()      {}
func (Around) callerEvent()     {}
func (CallerTick) callerEvent() {}

// CallerEffect is what the host of a Caller must do.
type CallerEffect interface{ callerEffect() }

type (
	// Deliver sends a request.
	Deliver struct {
		To      phalanx.NodeID
		Request Request
	}

	// Dismiss tells a node that nobody waits for its reply.
	Dismiss struct {
		To        phalanx.NodeID
		Withdrawn Withdrawn
	}

	// Returned ends a call.
	Returned struct {
		Number uint64
		Answer core.Answer
	}
)

func (Deliver) callerEffect()  {}
func (Dismiss) callerEffect()  {}
func (Returned) callerEffect() {}
