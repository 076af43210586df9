package workflow

import "fmt"

// Message is what a controller and an executor say to each other. Messages may be lost, come twice and in any
// order. Each has the epoch of the controller: an executor that has answered the Ask of an epoch takes
// nothing of lower ones, and a controller takes only answers to its own.
type Message interface{ epoch() uint64 }

// AttemptID names an attempt of a task of a run.
type AttemptID struct {
	Run     UID
	Task    int
	Attempt Attempt
}

// Blob names a checkpoint.
type Blob struct {
	Run  UID
	Task int
	Gen  uint32
	Made Attempt
}

// Of a controller.
type (
	// Ask asks what runs, has ended, or is held on a node: of all runs, or of Only. It is repeated, with the next
	// Part, until the last part of the answer is there. All parts are of one moment.
	Ask struct {
		Epoch  uint64
		Number uint64 // counts what this node is asked in this epoch
		Only   UID
		Part   int
	}

	// Order asks to run an attempt. It is repeated until Taken, or until the attempt's Report.
	Order struct {
		Epoch      uint64
		Serial     uint64 // counts the orders for this node in this epoch: none is taken twice
		ID         AttemptID
		Gen        uint32
		Kind       Kind
		Generation uint64  // of the ledger, first part of the fence
		Fence      Attempt // of TakeBack
		Made       Attempt // the output's object is named by it
		Function   Function
		Inputs     []Located // outputs of the tasks that it reads or follows, in the order of the graph
		Output     *Located  // of MakeUp: the task's own
		Attempts   int       // that have failed in a row, before this one
		Local      int       // the task in the graph that it is of: that of the run, or one that a task has returned
		From       []int     // by input: the task in that graph
		Off        bool      // the output has no checkpoint
		Result     bool      // the run ends with it
		Progress   []byte    // that an attempt before has told, of Do; nil: none has
		Of         any       // the host's: that of the Work; on its way to the executor, what the attempt runs
	}

	// Recall asks to end an attempt, or not to begin it if its Order was not there yet. It is repeated until
	// the attempt's Report.
	Recall struct {
		Epoch  uint64
		Serial uint64 // of its Order; 0: another epoch's
		ID     AttemptID
	}

	// Acknowledge says that the executor may forget these reports.
	Acknowledge struct {
		Epoch uint64
		IDs   []AttemptID
	}

	// WriteBlob asks to write an output to the node's disk. It is repeated until BlobWritten.
	WriteBlob struct {
		Epoch  uint64
		Blob   Blob
		Output Output // its size and digest
		Result bool   // the run ends with it: it stays until the run is forgotten

		Deterministic bool // the task is: the object's name has no attempt
	}

	// Release says that runs have ended: what nodes keep of them goes. It is repeated until Freed.
	Release struct {
		Epoch  uint64
		Serial uint64
		Runs   []Released
	}
)

// Released is a run that has ended.
type Released struct {
	Run     UID
	Results bool     // its results go as well
	Spares  []string // else: objects whose ids begin so stay, since its results name them
}

// Of an executor.
type (
	// Tell is a part of the answer to Ask.
	Tell struct {
		Epoch     uint64
		Number    uint64
		Part      int
		Parts     int // how many there are
		Slots     int // attempts that may run at once
		Functions []Function
		Disk      string // its identity; "": the node has none
		Running   []Running
		Ended     []Report
		Holds     []Blob // outputs in the node's memory
	}

	// Taken says that an attempt runs.
	Taken struct {
		Epoch uint64
		ID    AttemptID
	}

	// Busy says that the executor cannot take an Order yet: it keeps as many reports as it may.
	Busy struct {
		Epoch uint64
		ID    AttemptID
	}

	// Report says how an attempt has ended. It is repeated until Acknowledge.
	Report struct {
		Epoch   uint64 // the last that the executor has answered
		ID      AttemptID
		Gen     uint32
		Kind    Kind
		Failed  string // why it has; "": it has ended well
		Final   bool   // another attempt would fail as well
		Lost    bool   // it was ended as the node had no view lease: that is no failure of the task
		Missing []Blob // inputs that no node has any more, but for checkpoints: it did not begin
		Unsaved []Blob // inputs whose checkpoint each disk that was named has lost, or will never tell: it did not begin
		Output  Output
		Work    *Work // that the task has returned instead of an output: at least its Parts; nil: none

		Progress []byte // of an attempt that has failed: the last that it has told
	}

	// Waits says that an attempt waits for an input whose disk is away, and takes no slot meanwhile. It is repeated until the
	// attempt goes on; then, or when it ends, it takes a slot again.
	Waits struct {
		Epoch uint64
		ID    AttemptID
		On    bool // else it goes on
	}

	// Beaten has the progress of an attempt that goes on. It is not repeated: the next one has what is later.
	Beaten struct {
		Epoch    uint64
		ID       AttemptID
		Progress []byte
	}

	// Keeps names runs of which the node has had something for a while. Of those that are over it is to drop it: it may
	// have been away as they ended. It is not repeated: the next one comes within an hour.
	Keeps struct {
		Epoch uint64
		Runs  []UID // at most mostListed
	}

	// BlobWritten says that a checkpoint is on Disk, or why not.
	BlobWritten struct {
		Epoch   uint64
		Blob    Blob
		Disk    string
		Failed  string
		Missing bool // since nobody has the output any more
	}

	// Freed answers Release.
	Freed struct {
		Epoch  uint64
		Serial uint64
	}
)

// bytes returns how many bytes of an output, or of a workflow, a report has.
func (r Report) bytes() int {
	n := len(r.Output.Bytes) + len(r.Progress)
	if r.Work != nil {
		n += r.Work.size()
	}
	return n
}

// Running is an attempt that goes on.
type Running struct {
	ID   AttemptID
	Gen  uint32
	Kind Kind
}

func (m Ask) epoch() uint64         { return m.Epoch }
func (m Order) epoch() uint64       { return m.Epoch }
func (m Recall) epoch() uint64      { return m.Epoch }
func (m Acknowledge) epoch() uint64 { return m.Epoch }
func (m WriteBlob) epoch() uint64   { return m.Epoch }
func (m Release) epoch() uint64     { return m.Epoch }
func (m Tell) epoch() uint64        { return m.Epoch }
func (m Taken) epoch() uint64       { return m.Epoch }
func (m Busy) epoch() uint64        { return m.Epoch }
func (m Report) epoch() uint64      { return m.Epoch }
func (m Waits) epoch() uint64       { return m.Epoch }
func (m Beaten) epoch() uint64      { return m.Epoch }
func (m Keeps) epoch() uint64       { return m.Epoch }
func (m BlobWritten) epoch() uint64 { return m.Epoch }
func (m Freed) epoch() uint64       { return m.Epoch }

// Key is the same for each attempt of a task that outsiders have to take for one (workflow specification 1.2). undo says
// that something takes the task's effect back, so that it counts anew in the next generation.
func (m Order) Key(undo bool) string {
	if undo {
		return fmt.Sprintf("%s/%d/%d", m.ID.Run, m.ID.Task, m.Gen)
	}
	return fmt.Sprintf("%s/%d", m.ID.Run, m.ID.Task)
}

// compare orders attempts by run, task and beginning.
func (a AttemptID) compare(b AttemptID) int {
	if c := a.Run.compare(b.Run); c != 0 {
		return c
	}
	switch {
	case a.Task != b.Task:
		return a.Task - b.Task
	case a.Attempt.Less(b.Attempt):
		return -1
	case b.Attempt.Less(a.Attempt):
		return 1
	}
	return 0
}

// ViewNumber orders views (workflow specification 3.6).
type ViewNumber struct{ Boot, Number uint64 }

// Less reports whether w is later.
func (v ViewNumber) Less(w ViewNumber) bool {
	return v.Boot < w.Boot || v.Boot == w.Boot && v.Number < w.Number
}
