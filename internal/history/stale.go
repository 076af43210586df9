package history

import (
	"time"

	"github.com/phalanx-go/phalanx"
)

// MarkStale marks Gets that may return old bytes. A Get may return a deleted object if
// it began at most lag after the end of a call that reveals the Delete, or if cut says
// that its node was cut off at some time from lag before that end until the Get's end.
// A Get may return an object that was lost and replaced if its node was cut off while
// the Get ran.
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
