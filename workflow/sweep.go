package workflow

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
	"github.com/phalanx-go/phalanx/storenode"
)

// sweep has the node adopt objects that perhaps no other node has noted.
type sweep struct{ done func(failed bool) }

// sweepWithin bounds one look at all objects of runs.
const sweepWithin = time.Hour

// sweep looks at all objects of runs, page by page.
func (l *incarnation) sweep(done func(failed bool)) {
	l.wait.Go(func() {
		ctx, cancel := context.WithTimeout(l.ctx, sweepWithin)
		defer cancel()
		adopted := map[core.UID]bool{}
		err := l.o.node.Walk(ctx, flow.ObjectPrefix, func(some []storenode.ObjectStat) bool {
			v := l.o.node.View()
			var runs []core.UID
			var dead []phalanx.ObjectID
			l.has.with(func(b *flow.Belongings) {
				runs, dead = b.Adopt(some, func(n phalanx.NodeID) bool { _, is := v.Member(n); return is })
			})
			for _, u := range runs {
				adopted[u] = true
			}
			l.delete(dead)
			return true
		})
		if len(adopted) > 0 {
			l.tell(core.Kept{Runs: slices.Collect(maps.Keys(adopted))})
		}
		if err != nil && l.ctx.Err() == nil {
			l.o.settings.Log.Warnf("the objects of runs, of nodes that have left, cannot all be found, which is tried again: %v", err)
		}
		done(err != nil)
	})
}
