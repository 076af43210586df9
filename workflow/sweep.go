package workflow

import (
	"context"
	"time"

	"github.com/phalanx-go/phalanx"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
	"github.com/phalanx-go/phalanx/storenode"
)

// sweep has the node adopt objects that no other node may know of.
type sweep struct{ done func(failed bool) }

// sweepWithin bounds one look at all objects of runs.
const sweepWithin = 10 * time.Minute

// sweep looks at all objects of runs, page by page.
func (l *incarnation) sweep(done func(failed bool)) {
	l.wait.Go(func() {
		ctx, cancel := context.WithTimeout(l.ctx, sweepWithin)
		defer cancel()
		err := l.o.node.Walk(ctx, flow.ObjectPrefix, func(some []storenode.ObjectStat) bool {
			v := l.o.node.View()
			var runs []core.UID
			var dead []phalanx.ObjectID
			l.has.with(func(b *flow.Belongings) {
				runs, dead = b.Adopt(some, func(n phalanx.NodeID) bool { _, is := v.Member(n); return is })
			})
			if len(runs) > 0 {
				l.tell(core.Kept{Runs: runs})
			}
			l.delete(dead)
			return true
		})
		if err != nil && l.ctx.Err() == nil {
			l.o.settings.Log.Warnf("the objects of runs, of nodes that have left, cannot all be found, which is tried again: %v", err)
		}
		done(err != nil)
	})
}
