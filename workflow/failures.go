package workflow

import (
	"context"
	"time"

	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/protocol/retry"
)

// failures counts the controllers of this node that have ended by themselves, one soon after the other. The goroutine
// that hosts controllers owns it.
type failures struct{ inRow int }

// pauses are how long a node keeps a tenure whose controller has failed. They double, since the next controller may fail of the
// same rows: all executors have to answer each new one.
var pauses = retry.Pauses{First: 500 * time.Millisecond, Most: 30 * time.Second}

// soundAfter is how long a controller goes on until the failures before it do not count any more.
const soundAfter = time.Minute

// lived notes how long a controller went on.
func (f *failures) lived(d time.Duration) {
	if d >= soundAfter {
		f.inRow = 0
	}
}

// next returns the pause after another failure.
func (f *failures) next() time.Duration {
	f.inRow = min(f.inRow+1, 64)
	return pauses.After(f.inRow)
}

// giveUp ends a tenure that goes on although its controller has ended: that has panicked, or cannot lead. The next one,
// here or on another node, has a greater epoch and reads the ledger anew.
func (o *open) giveUp(ctx context.Context, t durable.Tenure) {
	select {
	case <-t.Done():
		return
	case <-ctx.Done():
		return
	default:
	}
	failed := actors.ControllerFailed{Epoch: t.Epoch(), Pause: o.failures.next()}
	o.settings.Log.Error(failed.String())
	o.node.System().EventStream.Publish(failed)
	select {
	case <-t.Done():
	case <-ctx.Done():
	case <-time.After(failed.Pause):
		t.GiveUp()
	}
}
