package workflow

import (
	"maps"
	"slices"
)

// waiting takes that an attempt waits for a disk that is away, or goes on. The controller hears it at once, and again while it
// waits: the message may get lost, and a new controller knows nothing of it.
func (x *Executor) waiting(ev AttemptWaits) {
	a := x.running[ev.ID]
	if a == nil || a.waits == ev.On {
		return
	}
	a.waits = ev.On
	x.tellWait(ev.ID, a)
}

func (x *Executor) tellWait(id AttemptID, a *attempt) {
	x.send(Waits{Epoch: x.epoch, ID: id, On: a.waits})
	if a.waits {
		x.waits.Set(id, x.now+waitsPause)
	} else {
		x.waits.Cancel(id)
	}
}

func (x *Executor) tellWaits() {
	for {
		id, ok := x.waits.Take(x.now)
		if !ok {
			return
		}
		x.tellWait(id, x.running[id])
	}
}

// waitAgain tells a controller that has just asked which attempts wait.
func (x *Executor) waitAgain() {
	for _, id := range slices.SortedFunc(maps.Keys(x.running), AttemptID.compare) {
		if x.running[id].waits {
			x.waits.Set(id, x.now)
		}
	}
}
