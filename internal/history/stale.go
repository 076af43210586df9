package history

import (
	"time"

	"github.com/phalanx-go/phalanx"
)

// MarkStale marks the Gets that may be of what was: of what was deleted, those
// that began not later than lag after a call that tells of it, and those on
// a node for which cut says that it was cut off from the others after that, or not
// longer than lag before; of what was lost, and replaced since, those on a node
// that was cut off while they ran.
func MarkStale(ops []Op, lag time.Duration, cut func(node string, from, to time.Duration) bool) {
	deleted, lost := map[phalanx.ObjectID][]time.Duration{}, map[phalanx.ObjectID]bool{}
	for _, o := range ops {
		if (o.Call == Delete && o.Outcome == 0 || o.Outcome == phalanx.ErrDeleted) && o.End != Never {
			deleted[o.Object] = append(deleted[o.Object], o.End)
		}
		lost[o.Object] = lost[o.Object] || o.Call == Loss
	}
	for i, o := range ops {
		if o.Call != Get {
			continue
		}
		for _, at := range deleted[o.Object] {
			if o.Begin > at && !ops[i].Stale {
				ops[i].Stale = o.Begin <= at+lag || cut(o.Node, at-lag, o.End)
			}
		}
		ops[i].Stale = ops[i].Stale || lost[o.Object] && cut(o.Node, o.Begin, o.End)
	}
}
