package workflow

import "time"

// RunEvent is what a Run hears.
type RunEvent interface{ runEvent() }

type (
	// Durable says that the effect Append with this number, and all before it, are on disks.
	Durable struct{ Number uint64 }

	// Outcome says how an attempt has ended.
	Outcome struct {
		Task    int
		Attempt Attempt
		Kind    Kind
		Failed  string // why it has; "": it has ended well
		Final   bool   // another attempt would fail as well
		Lost    bool   // nobody knows: its node has left the view, so it does not go on
		Output  Output
		Graph   *Graph // which the task has returned instead of an output; nil: none. The Run owns it
		Work    any    // of the host: what the tasks of Graph run. It is in the record Expanded
	}

	// Checkpointed says that an output is saved, as Save asked for.
	Checkpointed struct {
		Task   int
		Gen    uint32
		Made   Attempt
		Failed string // "": it is saved
	}

	// Gone says that no node has the output of a task any more, but for its checkpoint.
	Gone struct {
		Task int
		Gen  uint32
	}

	// Abort asks to end the run: it goes back.
	Abort struct{ Cause string }

	// Signal brings a signal of outsiders. ID names it, so that a repeat is known. The Run owns Bytes. It answers
	// with SignalTaken, once for all repeats until then.
	Signal struct {
		Name, ID string
		Bytes    []byte
	}

	// Resume asks to go on with what is stuck, with other versions of functions, and without what is lost if AcceptLoss is
	// set and Lacks has something.
	Resume struct {
		Versions   []Function
		AcceptLoss bool
	}

	// Tick says that the time is what Step is told.
	Tick struct{}
)

func (Durable) runEvent()      {}
func (Outcome) runEvent()      {}
func (Checkpointed) runEvent() {}
func (Gone) runEvent()         {}
func (Unsaved) runEvent()      {}
func (Abort) runEvent()        {}
func (Signal) runEvent()       {}
func (Resume) runEvent()       {}
func (Tick) runEvent()         {}

// RunEffect is what the host of a Run must do.
type RunEffect interface{ runEffect() }

// Kind is the purpose of an attempt.
type Kind uint8

// The purposes.
const (
	Do       Kind = iota // run the task
	TakeBack             // run its undo, for attempts up to Fence
	MakeUp               // run its compensation
	Remake               // run it again with the inputs it had, for the undo of another
)

type (
	// Append asks to make records durable, all or none, in order.
	Append struct {
		Number  uint64
		Records []Record
	}

	// Dispatch asks to run an attempt on some node. The host answers with its Outcome.
	Dispatch struct {
		Task    int
		Gen     uint32
		Attempt Attempt
		Kind    Kind
		Fence   Attempt // of TakeBack
	}

	// Cancel asks to end an attempt. The host answers with its Outcome once it does not go on.
	Cancel struct {
		Task    int
		Attempt Attempt
	}

	// Save asks for a checkpoint of the output that the attempt Made has made.
	Save struct {
		Task int
		Gen  uint32
		Made Attempt
	}

	// SignalTaken answers a Signal. Err is nil: it is durable that this signal counts; phalanx.ErrExists: an earlier
	// one of that name does; phalanx.ErrInvalid: a bound is exceeded (MaxSignal, MaxSignalName);
	// phalanx.ErrNoSpace: the run takes no more (MaxSignals, MaxSignalBytes); phalanx.ErrClosed: the run has ended.
	SignalTaken struct {
		Name, ID string
		Err      error
	}

	// Stuck says that the run waits for somebody to mend what keeps it from going on.
	Stuck struct {
		Task int
		Why  string
	}

	// Failed says why an attempt or a checkpoint of Task has failed, and when the next one begins.
	Failed struct {
		Task    int
		Why     string
		Again   time.Duration
		Retries int
	}
)

func (Append) runEffect()      {}
func (Dispatch) runEffect()    {}
func (Cancel) runEffect()      {}
func (Save) runEffect()        {}
func (SignalTaken) runEffect() {}
func (Stuck) runEffect()       {}
func (Failed) runEffect()      {}
