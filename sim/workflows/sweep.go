package workflows

import (
	"maps"
	"slices"
	"strings"

	"github.com/phalanx-go/phalanx"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	"github.com/phalanx-go/phalanx/protocol/directory"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// sweep adopts objects that perhaps no other node has noted, and answers the controller that wants it. Some looks fail on the way.
func (c *controller) sweep() {
	h, life := c.h, c.h.life
	h.later(h.Upto(100*ms), func() {
		if life != h.life || h.member == nil {
			c.step(flow.Swept{Failed: true})
			return
		}
		all := h.store.list(flow.ObjectPrefix)
		failed := !h.calm && len(all) > 0 && h.R.IntN(5) == 0
		if failed {
			all = all[:h.R.IntN(len(all))]
		}
		runs, dead := h.has.Adopt(all, func(n phalanx.NodeID) bool { return slices.Contains(h.view.Nodes, n) })
		for _, id := range dead {
			h.store.delete(id)
		}
		if len(runs) > 0 {
			h.Met("workflow: object of a node that has left, or of a reduce, adopted")
			h.local(flow.Local{Event: core.Kept{Runs: runs}})
		}
		c.step(flow.Swept{Failed: failed})
	})
}

// list returns the objects of which there are bytes, in the order of their ids.
func (o *store) list(prefix string) (all []directory.ObjectStat) {
	for _, id := range slices.Sorted(maps.Keys(o.all)) {
		if x := o.all[id]; strings.HasPrefix(string(id), prefix) && len(o.holders(id)) > 0 {
			all = append(all, directory.ObjectStat{Object: id, Origin: x.origin, Maker: x.maker})
		}
	}
	return all
}
