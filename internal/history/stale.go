package history

import (
	"time"

	"github.com/phalanx-go/phalanx"
)

// MarkStale marks the Gets that may be of what was deleted: those that began not
// later than lag after the first call that tells of a delete, and those on a node for
// which cut says that it was cut off from the others between two times.
func MarkStale(ops []Op, lag time.Duration, cut func(node string, from, to time.Duration) bool) {
	deleted := map[phalanx.ObjectID]time.Duration{}
	for _, o := range ops {
		if (o.Call == Delete && o.Outcome == 0 || o.Outcome == phalanx.ErrDeleted) && o.End != Never {
			if at, ok := deleted[o.Object]; !ok || o.End < at {
				deleted[o.Object] = o.End
			}
		}
	}
	for i, o := range ops {
		if at, ok := deleted[o.Object]; ok && o.Call == Get && o.Begin > at {
			ops[i].Stale = o.Begin <= at+lag || cut(o.Node, at, o.End)
		}
	}
}
