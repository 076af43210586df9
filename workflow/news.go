package workflow

import (
	"time"

	"github.com/phalanx-go/phalanx/actors"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// publish puts what a controller tells on the node's event stream. What somebody has to mend is a warning in the log
// as well.
func (o *open) publish(n core.News) {
	e := eventOf(n, o.node.Now())
	switch e.(type) {
	case nil:
		return
	case actors.RunStuck, actors.CheckpointFailed:
		o.settings.Log.Warn(e.String())
	default:
		o.settings.Log.Debug(e.String())
	}
	o.node.System().EventStream.Publish(e)
}

// eventOf returns the event of what a controller tells at now; nil: there is none.
func eventOf(n core.News, now time.Duration) actors.Event {
	switch n := n.(type) {
	case core.RunStarted:
		return actors.RunStarted{ID: n.ID, UID: n.Run.String()}
	case core.RunClosed:
		return actors.RunClosed{ID: n.ID, UID: n.Run.String(), Failed: n.Failed}
	case core.RunStuck:
		return actors.RunStuck{ID: n.ID, UID: n.Run.String(), Task: n.Task, Why: n.Why}
	case core.AttemptFailed:
		return actors.AttemptFailed{UID: n.Run.String(), Task: n.Task, Why: n.Why, Pause: n.Again - now}
	case core.AttemptLost:
		return actors.AttemptLost{UID: n.Run.String(), Task: n.Task, Node: n.Node}
	case core.RecoveryBegan:
		return actors.RecoveryBegan{UID: n.Run.String(), Tasks: n.Tasks, Count: n.Count}
	case core.TaskUndone:
		return actors.TaskUndone{UID: n.Run.String(), Task: n.Task}
	case core.CheckpointFailed:
		return actors.CheckpointFailed{UID: n.Run.String(), Task: n.Task, Why: n.Why, Pause: n.Again - now}
	case core.ControllerTookOver:
		return actors.ControllerTookOver{Epoch: n.Epoch, Runs: n.Runs}
	}
	return nil
}
