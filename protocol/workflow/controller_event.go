package workflow

import (
	"time"

	"github.com/phalanx-go/phalanx"
)

// ControlEvent is what a Controller hears.
type ControlEvent interface{ controlEvent() }

// Caller is a call that waits for its answer. The host gives each call another one.
type Caller uint64

type (
	// Scanned brings rows of the ledger as the tenure begins: the clock, the view, the rows executor/, and those of each run
	// that is active, in the order of their keys, but for out/, part/ and result. Nothing else is heard before
	// the Last.
	Scanned struct {
		Rows []Row
		Last bool
	}

	// Found answers Read.
	Found struct {
		Number uint64
		Rows   []Row
	}

	// Confirmed answers Confirm: this tenure went on after it was asked.
	Confirmed struct{ Number uint64 }

	// Refused says that a Write was refused: the tenure has ended, and nothing later of it is proposed.
	Refused struct{}

	// Called is what a client asks. Patience is how long it waits, at most mostPatience. Full says that the ledger's disk is nearly
	// full: no run begins.
	Called struct {
		Caller   Caller
		Call     Call
		Patience time.Duration
		Full     bool
	}

	// Withdrawn says that nobody waits for an answer any more.
	Withdrawn struct{ Caller Caller }

	// Members is a view: the nodes that are in it.
	Members struct {
		View    ViewNumber
		Nodes   []phalanx.NodeID
		Leaving []phalanx.NodeID // those of Nodes that leave: they get no attempts
	}

	// OutputGone says that no node has an output any more, but for its checkpoint: the store tells.
	OutputGone struct{ Blob Blob }

	// CheckpointGone says that no disk has the checkpoint of an output any more.
	CheckpointGone struct{ Blob Blob }

	// Swept says that a Sweep is over. If it Failed there may be objects that it has not seen.
	Swept struct{ Failed bool }
)

func (Scanned) controlEvent()        {}
func (Found) controlEvent()          {}
func (Confirmed) controlEvent()      {}
func (Durable) controlEvent()        {}
func (Refused) controlEvent()        {}
func (Called) controlEvent()         {}
func (Withdrawn) controlEvent()      {}
func (Members) controlEvent()        {}
func (Heard) controlEvent()          {}
func (OutputGone) controlEvent()     {}
func (CheckpointGone) controlEvent() {}
func (Swept) controlEvent()          {}
func (Tick) controlEvent()           {}

// Call is what a client asks of the run with an id. The answer to StartRun, AttachRun, AwaitResult,
// CancelRun, ResumeRun, SignalRun and ForgetRun is linearizable; that to GetStatus, ReadRun and ListRuns may be a second old.
type Call interface{ call() }

type (
	// StartRun begins a run, or attaches to that of the same id and workflow. Key is the caller's, and makes a
	// repeat of it known.
	StartRun struct {
		ID   string
		Key  string
		Work *Work
	}
	// AttachRun finds a run.
	AttachRun struct{ ID string }
	// AwaitResult waits until a run has ended. An ErrDeadline asks to call again.
	AwaitResult struct{ ID string }
	// GetStatus says how a run stands; with Tasks, also which tasks are at work.
	GetStatus struct {
		ID    string
		Tasks bool
	}
	// ReadRun reads what is recorded of a run, in pages: its workflow, or with Log what has happened. From is the row with which the
	// page begins: 0, or Page.Next of the page before.
	ReadRun struct {
		ID   string
		Log  bool
		From uint64
	}
	// ListRuns lists runs by their ids: those with the prefix, after After.
	ListRuns struct {
		Prefix, After string
		Limit         int // at most 1,000; 0: 1,000
	}
	// CancelRun has a run go back.
	CancelRun struct{ ID, Cause string }
	// ResumeRun goes on with what is stuck, with other versions of functions; and, with AcceptLoss, without the outputs that
	// Status.Lost names.
	ResumeRun struct {
		ID         string
		With       []Function
		AcceptLoss bool
	}
	// SignalRun tells a run of an event. The first Key for a name counts: a repeat of it is answered well, another Key
	// ErrExists. A signal may come before any task waits for it. After the run has ended it is ErrClosed.
	SignalRun struct {
		ID, Name, Key string
		Bytes         []byte
	}
	// GetLedger asks where the ledger is. The host answers it: a controller does not know.
	GetLedger struct{}
	// ForgetRun deletes a run that has ended. Its id can be used again after 20 minutes.
	ForgetRun struct{ ID string }
)

func (StartRun) call()    {}
func (AttachRun) call()   {}
func (AwaitResult) call() {}
func (GetStatus) call()   {}
func (ReadRun) call()     {}
func (ListRuns) call()    {}
func (CancelRun) call()   {}
func (ResumeRun) call()   {}
func (SignalRun) call()   {}
func (ForgetRun) call()   {}
func (GetLedger) call()   {}

// ControlEffect is what the host of a Controller must do.
type ControlEffect interface{ controlEffect() }

type (
	// Write asks to make rows durable, all or none. The host proposes Writes in order, and answers with Durable once
	// a Write and all before it are on disks and can be read; after one is refused it proposes no other, and
	// answers with Refused.
	Write struct {
		Number uint64
		Rows   []Row
	}

	// Read asks for the rows of [Key, End), or of Key if End is empty: at most Limit, if that is not zero. The host
	// answers with Found. It leaves out/ and part/ away.
	Read struct {
		Number   uint64
		Key, End string
		Limit    int
	}

	// Confirm asks whether the tenure goes on (raft's ReadIndex). The host answers with Confirmed, or Refused.
	Confirm struct{ Number uint64 }

	// Send sends a message to an executor. The host adds the bytes of each Located that has a Row.
	Send struct {
		To      phalanx.NodeID
		Message Message
	}

	// Answer answers a call, once.
	Answer struct {
		Caller Caller
		Run    UID
		Fresh  bool // of Start: the caller's own Start has begun the run
		Status *Status
		List   []Listed
		Result *Result
		Page   *Page // of ReadRun
		Ledger *Ledger
		Err    error // a *phalanx.Error; nil: none
	}

	// Publish tells people what has happened.
	Publish struct{ News News }

	// Sweep asks the host to look at all objects of runs, and to note those of which no node of the view may know. The host answers
	// with Swept.
	Sweep struct{}
)

func (Write) controlEffect()   {}
func (Read) controlEffect()    {}
func (Confirm) controlEffect() {}
func (Send) controlEffect()    {}
func (Answer) controlEffect()  {}
func (Publish) controlEffect() {}
func (Sweep) controlEffect()   {}

// Status is how a run stands.
type Status struct {
	State   State
	Why     string // it waits, or it has failed
	Tasks   int
	Ended   int
	Running int
	Ready   int        // wait for a slot
	Lacks   []Function // of those: the functions that no member offers
	Work    []AtWork   // if it was asked for
	Lost    []string   // tasks whose outputs are lost for good, and needed: ResumeRun may accept that; at most mostNamed
}

// Listed is a run in a list.
type Listed struct {
	ID   string
	Name Name
}
