package actors

import (
	"fmt"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx"
)

// Events of runs of workflows, on the node of the controller but for those of actors. UID names a run for ever, ID as long as it is not
// forgotten.
type (
	// RunStarted says that a run has begun, durably.
	RunStarted struct {
		ID  string `json:"id"`
		UID string `json:"uid"`
	}

	// RunClosed says that a run has ended: well, if Failed is empty.
	RunClosed struct {
		ID     string `json:"id"`
		UID    string `json:"uid"`
		Failed string `json:"failed,omitempty"`
	}

	// RunStuck says that a run waits for somebody to mend what keeps it from going on, and to resume it.
	RunStuck struct {
		ID   string `json:"id"`
		UID  string `json:"uid"`
		Task string `json:"task,omitempty"`
		Why  string `json:"why"`
	}

	// AttemptFailed says that an attempt of Task has failed; the next one begins after Pause.
	AttemptFailed struct {
		UID   string        `json:"uid"`
		Task  string        `json:"task"`
		Why   string        `json:"why"`
		Pause time.Duration `json:"pause_ns"`
	}

	// AttemptLost says that nobody knows how an attempt has ended, since Node has left. Node is "" if nobody knows
	// where it ran.
	AttemptLost struct {
		UID  string         `json:"uid"`
		Task string         `json:"task"`
		Node phalanx.NodeID `json:"node,omitempty"`
	}

	// RecoveryBegan says that Count tasks are made again; Tasks names the first ones.
	RecoveryBegan struct {
		UID   string   `json:"uid"`
		Tasks []string `json:"tasks"`
		Count int      `json:"count"`
	}

	// TaskUndone says that the effect of Task was taken back.
	TaskUndone struct {
		UID  string `json:"uid"`
		Task string `json:"task"`
	}

	// ActorLost says that an attempt of this node found that nobody can use an actor of a workflow any more, and that there is no snapshot of
	// which it can be restored. It was on Node.
	ActorLost struct {
		UID   string         `json:"uid"`
		Actor string         `json:"actor"` // the name that its task has given it
		Of    string         `json:"of"`    // its kind, as name@version
		Node  phalanx.NodeID `json:"node"`
		Why   string         `json:"why"`
	}

	// ActorRestored says that an attempt of this node has restored an actor of a workflow of its snapshot. It was on From, and is On.
	ActorRestored struct {
		UID   string         `json:"uid"`
		Actor string         `json:"actor"`
		Of    string         `json:"of"`
		From  phalanx.NodeID `json:"from"`
		On    phalanx.NodeID `json:"on"`
		Why   string         `json:"why"`
	}

	// CheckpointFailed says that the output of Task could not be saved; the next attempt to do so begins after Pause.
	CheckpointFailed struct {
		UID   string        `json:"uid"`
		Task  string        `json:"task"`
		Why   string        `json:"why"`
		Pause time.Duration `json:"pause_ns"`
	}

	// ControllerTookOver says that this node decides for all runs from now on, and goes on with so many.
	ControllerTookOver struct {
		Epoch uint64 `json:"epoch"`
		Runs  int    `json:"runs"`
	}

	// ControllerFailed says that the controller of an epoch has ended by itself on this node: it has panicked, or
	// cannot read the ledger. After Pause the node gives up to lead, and another controller follows.
	ControllerFailed struct {
		Epoch uint64        `json:"epoch"`
		Pause time.Duration `json:"pause_ns"`
	}
)

// Kind returns the name of the type.
func (RunStarted) Kind() string         { return "RunStarted" }
func (RunClosed) Kind() string          { return "RunClosed" }
func (RunStuck) Kind() string           { return "RunStuck" }
func (AttemptFailed) Kind() string      { return "AttemptFailed" }
func (AttemptLost) Kind() string        { return "AttemptLost" }
func (RecoveryBegan) Kind() string      { return "RecoveryBegan" }
func (TaskUndone) Kind() string         { return "TaskUndone" }
func (ActorLost) Kind() string          { return "ActorLost" }
func (ActorRestored) Kind() string      { return "ActorRestored" }
func (CheckpointFailed) Kind() string   { return "CheckpointFailed" }
func (ControllerTookOver) Kind() string { return "ControllerTookOver" }
func (ControllerFailed) Kind() string   { return "ControllerFailed" }

func (e RunStarted) String() string { return fmt.Sprintf("run %q has begun (%s)", e.ID, e.UID) }

func (e RunClosed) String() string {
	if e.Failed != "" {
		return fmt.Sprintf("run %q has failed: %s", e.ID, e.Failed)
	}
	return fmt.Sprintf("run %q has ended well", e.ID)
}

func (e RunStuck) String() string {
	return fmt.Sprintf("run %q (%s) waits until somebody resumes it: %s", e.ID, e.UID, e.Why)
}

func (e AttemptFailed) String() string {
	return fmt.Sprintf("task %s of run %s has failed, and is repeated in %v: %s", e.Task, e.UID, e.Pause, e.Why)
}

func (e AttemptLost) String() string {
	if e.Node == "" {
		return fmt.Sprintf("nobody knows how an attempt of task %s of run %s has ended", e.Task, e.UID)
	}
	return fmt.Sprintf("node %s has left, which ran task %s of run %s", e.Node, e.Task, e.UID)
}

func (e RecoveryBegan) String() string {
	return fmt.Sprintf("%d tasks of run %s are made again: %s", e.Count, e.UID, strings.Join(e.Tasks, ", "))
}

func (e TaskUndone) String() string {
	return fmt.Sprintf("the effect of task %s of run %s was taken back", e.Task, e.UID)
}

func (e ActorLost) String() string {
	return fmt.Sprintf("the actor %s (%s) of run %s was on node %s and is lost: %s", e.Actor, e.Of, e.UID, e.Node, e.Why)
}

func (e ActorRestored) String() string {
	return fmt.Sprintf("the actor %s (%s) of run %s was on node %s and is restored on node %s: %s", e.Actor, e.Of, e.UID, e.From, e.On, e.Why)
}

func (e CheckpointFailed) String() string {
	return fmt.Sprintf("the output of task %s of run %s could not be saved, which is tried again in %v: %s", e.Task, e.UID, e.Pause, e.Why)
}

func (e ControllerTookOver) String() string {
	return fmt.Sprintf("this node decides for all runs of workflows now, in epoch %d: %d go on", e.Epoch, e.Runs)
}

func (e ControllerFailed) String() string {
	return fmt.Sprintf("the controller of workflows of epoch %d has failed on this node: in %v the node gives up to lead, and another controller follows", e.Epoch, e.Pause)
}
