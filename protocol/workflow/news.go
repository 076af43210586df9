package workflow

import (
	"time"

	"github.com/phalanx-go/phalanx"
)

// News is what people hear of a run.
type News interface{ news() }

type (
	// RunStarted says that a run has begun, durably.
	RunStarted struct {
		Run UID
		ID  string
	}
	// RunClosed says that a run has ended: well, if Failed is empty.
	RunClosed struct {
		Run    UID
		ID     string
		Failed string
	}
	// RunStuck says that a run waits for somebody to mend it.
	RunStuck struct {
		Run  UID
		ID   string
		Task string
		Why  string
	}
	// AttemptFailed says that an attempt has failed, and that another one begins at Again.
	AttemptFailed struct {
		Run   UID
		Task  string
		Why   string
		Again time.Duration
	}
	// AttemptLost says that nobody knows how an attempt has ended. Node is "" if nobody knows where it ran.
	AttemptLost struct {
		Run  UID
		Task string
		Node phalanx.NodeID
	}
	// RecoveryBegan says that tasks are made again; Tasks names the first ten.
	RecoveryBegan struct {
		Run   UID
		Tasks []string
		Count int
	}
	// TaskUndone says that the effect of a task was taken back.
	TaskUndone struct {
		Run  UID
		Task string
	}
	// CheckpointFailed says that a checkpoint was not written, and that the next attempt begins at Again.
	CheckpointFailed struct {
		Run   UID
		Task  string
		Why   string
		Again time.Duration
	}
	// ControllerTookOver says that the controller of an epoch goes on with so many active runs.
	ControllerTookOver struct {
		Epoch uint64
		Runs  int
	}
)

func (RunStarted) news()         {}
func (RunClosed) news()          {}
func (RunStuck) news()           {}
func (AttemptFailed) news()      {}
func (AttemptLost) news()        {}
func (RecoveryBegan) news()      {}
func (TaskUndone) news()         {}
func (CheckpointFailed) news()   {}
func (ControllerTookOver) news() {}
