package workflow

import "time"

// Record is a durable fact of a run (workflow specification 2.1). A controller that takes over reads them all,
// in the order in which they were written, and knows what the one before it knew.
type Record interface{ record() }

// Attempt names one attempt of a task: only the outcome of the recorded one counts.
type Attempt struct {
	Epoch  uint64 // of the controller that began it
	Number uint64 // in that epoch, from 1
}

// Less orders attempts by the time of their beginning. It is the fence of an undo (workflow specification 1.2).
func (a Attempt) Less(b Attempt) bool {
	return a.Epoch < b.Epoch || a.Epoch == b.Epoch && a.Number < b.Number
}

// IsZero reports whether a names no attempt.
func (a Attempt) IsZero() bool { return a == Attempt{} }

type (
	// Begun says that an attempt of Task begins: an effect of it may be seen from now on.
	Begun struct {
		Task    int
		Gen     uint32
		Attempt Attempt
	}
	// Ended says that an attempt has ended well, with Output.
	Ended struct {
		Task    int
		Gen     uint32
		Attempt Attempt
		Output  Output
	}
	// Saved says that the checkpoint of an output is durable. An output that is in its Ended is saved by that.
	Saved struct {
		Task int
		Gen  uint32
		Made Attempt
	}
	// Unsaved says that no disk has the checkpoint of an output any more. It is also what a Run hears of that.
	Unsaved struct {
		Task int
		Gen  uint32
		Made Attempt
	}
	// Recovering says that tasks are made again: from now on nothing of them counts.
	Recovering struct {
		Set  []int
		Loss bool // it breaks rules, since something is lost, and somebody has accepted that
	}
	// Undone says that no attempt of Task up to Fence has an effect any more.
	Undone struct {
		Task  int
		Fence Attempt
		Left  bool // or that the effect stays: what its undo or its compensation needs is lost, and somebody has accepted that
	}
	// Expanded says that an attempt has ended, and returned Graph. Its tasks are First and the numbers behind it.
	Expanded struct {
		Task    int
		Gen     uint32
		Attempt Attempt
		First   int
		Graph   *Graph
		Work    any // of the host: what these tasks run
	}
	// Slept says that a Sleep ends at Until, by the ledger's clock (RunConfig.Clock).
	Slept struct {
		Task  int
		Gen   uint32
		Until time.Duration
	}
	// Signalled says that the signal ID is the one that counts for the events Name.
	Signalled struct {
		Name, ID string
		Bytes    []byte
	}
	// Failing says that the run goes back, since a task has failed: nothing new begins (workflow specification 2.5).
	Failing struct{ Cause string }
	// Cancelled says that the run goes back, since somebody wants it.
	Cancelled struct{ Cause string }
	// Resumed says that the run goes on with other versions of functions, by name, and without what is lost.
	Resumed struct {
		Versions   []Function
		AcceptLoss bool
	}
	// Compensated says that the compensation of Task has ended well.
	Compensated struct{ Task int }
	// Closed says that the run has ended: well, if Failed is empty.
	Closed struct{ Failed string }
)

// Output is the output of a task.
type Output struct {
	Size     int64
	Digest   [16]byte
	Recorded bool   // Bytes has it; else it is an object
	Refs     uint32 // how many objects it names; it stands here for the size of a run in memory
	Bytes    []byte // at most 64 KB
	Error    string // of a task whose consumer takes its error

	// Weight is the bytes of the objects that Refs in the output name. Such an output is an object always, which lists them. It is there
	// if they are, and saved once they are.
	Weight int64

	// Names says how the ids of the objects begin that a result of the run names: they stay until the run is forgotten.
	Names []string
}

func (Begun) record()       {}
func (Ended) record()       {}
func (Saved) record()       {}
func (Unsaved) record()     {}
func (Recovering) record()  {}
func (Undone) record()      {}
func (Expanded) record()    {}
func (Slept) record()       {}
func (Signalled) record()   {}
func (Failing) record()     {}
func (Cancelled) record()   {}
func (Resumed) record()     {}
func (Compensated) record() {}
func (Closed) record()      {}
