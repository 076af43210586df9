package workflow

import (
	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/ledger"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// TenureEvent is what a Tenure hears.
type TenureEvent interface{ tenureEvent() }

type (
	// Looked answers Look. Failed says that the ledger cannot be read any more; "": it can.
	Looked struct {
		Number uint64
		Rows   []ledger.Row // of the ranges, in the order of their keys
		Failed string
	}

	// Appended says that the Appends up to Number are durable. They can be read once an AskSure is answered that comes
	// after this.
	Appended struct{ Number uint64 }

	// Refused says that an Append or an AskSure has failed although the tenure may go on.
	Refused struct{ Why string }

	// Unread says that the host cannot read a row that it looked up by itself.
	Unread struct{ Why string }

	// Busy says that the ledger has too much to do to answer an AskSure.
	Busy struct{ Number uint64 }

	// Ended says that the tenure is over.
	Ended struct{}

	// Assured answers AskSure: the tenure went on after it was asked.
	Assured struct{ Number uint64 }

	// Asked brings the request of a client. Of StartRun the host has put the Work together.
	Asked struct {
		From    phalanx.NodeID
		Request Request
		Full    bool // the ledger's disk is nearly full
	}

	// Unasked says that nobody waits for the reply to a request any more.
	Unasked struct {
		From   phalanx.NodeID
		Number uint64
	}

	// Heard brings a message of an executor.
	Heard struct {
		From    phalanx.NodeID
		Message core.Message
	}

	// Swept answers Sweep.
	Swept struct{ Failed bool }

	// View is the view of the node.
	View struct{ core.Members }

	// Tick says that the time of Due has come.
	Tick struct{}
)

func (Looked) tenureEvent()   {}
func (Appended) tenureEvent() {}
func (Refused) tenureEvent()  {}
func (Unread) tenureEvent()   {}
func (Busy) tenureEvent()     {}
func (Ended) tenureEvent()    {}
func (Assured) tenureEvent()  {}
func (Asked) tenureEvent()    {}
func (Unasked) tenureEvent()  {}
func (Heard) tenureEvent()    {}
func (Swept) tenureEvent()    {}
func (View) tenureEvent()     {}
func (Tick) tenureEvent()     {}

// TenureEffect is what the host of a Tenure must do.
type TenureEffect interface{ tenureEffect() }

type (
	// Append asks to append rows, in the order of these effects. The host answers with Appended, Refused or
	// Ended.
	Append struct {
		Number uint64
		Rows   []ledger.Row
	}

	// Look asks for rows. The host answers with Looked. It may answer several in any order.
	Look struct {
		Number uint64
		Ranges []Range // in the order of their keys
	}

	// AskSure asks whether the tenure goes on (raft's ReadIndex). The host answers with Assured, Busy, Refused or Ended.
	AskSure struct{ Number uint64 }

	// Tell sends a message to an executor. The Of of an Order is that of its Work.
	Tell struct {
		To      phalanx.NodeID
		Message core.Message
	}

	// Respond sends the reply to a request.
	Respond struct {
		To    phalanx.NodeID
		Reply Reply
	}

	// Publish tells people what has happened.
	Publish struct{ News core.News }

	// Sweep asks to look at all objects of runs, and to adopt (Belongings.Adopt). The host answers with Swept.
	Sweep struct{}

	// GiveUp says that this node cannot lead: it gives up the tenure.
	GiveUp struct{ Why string }
)

func (Append) tenureEffect()  {}
func (Look) tenureEffect()    {}
func (AskSure) tenureEffect() {}
func (Tell) tenureEffect()    {}
func (Respond) tenureEffect() {}
func (Publish) tenureEffect() {}
func (Sweep) tenureEffect()   {}
func (GiveUp) tenureEffect()  {}
