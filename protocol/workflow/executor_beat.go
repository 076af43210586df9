package workflow

import (
	"maps"
	"slices"
)

// beat takes the progress of an attempt. The controller hears of it at most once in beatPause, and as the attempt fails.
func (x *Executor) beat(ev Beats) {
	a := x.running[ev.ID]
	if a == nil || a.order.Kind != Do || len(ev.Progress) > MaxProgress {
		return
	}
	first := a.progress == nil
	a.progress = ev.Progress
	if at := a.beaten + beatPause; first || at < x.now {
		x.beats.Set(ev.ID, x.now)
	} else {
		x.beats.Set(ev.ID, at)
	}
}

// beatAgain tells a controller that has just asked how far attempts have come.
func (x *Executor) beatAgain() {
	for _, id := range slices.SortedFunc(maps.Keys(x.running), AttemptID.compare) {
		if x.running[id].progress != nil {
			x.beats.Set(id, x.now)
		}
	}
}

func (x *Executor) tellBeats() {
	for {
		id, ok := x.beats.Take(x.now)
		if !ok {
			return
		}
		a := x.running[id]
		a.beaten = x.now
		x.send(Beaten{Epoch: x.epoch, ID: id, Progress: a.progress})
	}
}
