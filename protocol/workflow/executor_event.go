package workflow

import (
	"time"

	"github.com/phalanx-go/phalanx"
)

// ExecutorEvent is what an Executor hears.
type ExecutorEvent interface{ executorEvent() }

type (
	// Heard brings a message: of a controller to an Executor, or of an executor to a Controller.
	Heard struct {
		From    phalanx.NodeID
		Message Message
	}

	// AttemptEnded says that an attempt does not go on. Failed says why; "": it has ended well, and the node has
	// its output. Missing and Unsaved are inputs that cannot be had, as in Report. Work is what the task has returned
	// instead of an output.
	AttemptEnded struct {
		ID      AttemptID
		Failed  string
		Final   bool // another attempt would fail as well
		Lost    bool // the node could not carry it out, since it leaves: that is no failure of the task
		Missing []Blob
		Unsaved []Blob
		Output  Output
		Work    *Work
	}

	// Beats says how far an attempt has come that goes on: at most MaxProgress bytes, which the Executor owns.
	Beats struct {
		ID       AttemptID
		Progress []byte
	}

	// AttemptWaits says that an attempt waits for an input whose disk is away, or, if not On, that it goes on.
	AttemptWaits struct {
		ID AttemptID
		On bool
	}

	// Kept answers Census.
	Kept struct{ Runs []UID }

	// BlobSaved says that a checkpoint is on the node's disk, synced, or why not.
	BlobSaved struct {
		Blob    Blob
		Failed  string
		Missing bool // since nobody has the output any more
	}

	// Stored says that the node has got a copy of an output.
	Stored struct{ Blob Blob }

	// Dropped says that the node does not have an output any more.
	Dropped struct{ Blob Blob }

	// Leased says until when the node has a view lease.
	Leased struct{ Until time.Duration }
)

func (Heard) executorEvent()        {}
func (AttemptEnded) executorEvent() {}
func (Beats) executorEvent()        {}
func (AttemptWaits) executorEvent() {}
func (Kept) executorEvent()         {}
func (BlobSaved) executorEvent()    {}
func (Stored) executorEvent()       {}
func (Dropped) executorEvent()      {}
func (Leased) executorEvent()       {}
func (Tick) executorEvent()         {}

// ExecutorEffect is what the host of an Executor must do.
type ExecutorEffect interface{ executorEffect() }

type (
	// RunAttempt asks to run an attempt. The host answers with AttemptEnded, once.
	RunAttempt struct{ Order Order }

	// CancelAttempt asks to end an attempt. The host answers with AttemptEnded once it does not go on.
	CancelAttempt struct{ ID AttemptID }

	// ToController sends a message to a controller.
	ToController struct {
		To      phalanx.NodeID
		Message Message
	}

	// SaveBlob asks to write an output to the disk. The host answers with BlobSaved.
	SaveBlob struct {
		Blob   Blob
		Output Output
		Result bool

		Deterministic bool
	}

	// Free asks to delete what the node has of runs that have ended: objects, and blobs that are no results.
	Free struct{ Runs []Released }

	// Census asks of which runs the node has something, or whether it has something of one. The host answers with Kept.
	Census struct{ Only UID }

	// EndProcess asks to end the process at once: an attempt does not end, and the node has lost its lease.
	EndProcess struct{ Why string }
)

func (RunAttempt) executorEffect()    {}
func (CancelAttempt) executorEffect() {}
func (ToController) executorEffect()  {}
func (SaveBlob) executorEffect()      {}
func (Free) executorEffect()          {}
func (Census) executorEffect()        {}
func (EndProcess) executorEffect()    {}
