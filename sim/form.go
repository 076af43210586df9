package sim

import (
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// anew is the outcome of forming the cluster anew.
type anew struct {
	formed  bool
	refused phalanx.Kind // the last reason why a node did not
}

// formAnew has an operator form the cluster anew from the members that live, where the majority of
// the voters is lost for good (docs/adr/0014). At times the operator tells two nodes at once.
// formAnew reports whether there is a member to tell.
func (w *world) formAnew() bool {
	w.anew = anew{}
	for range mostFormings {
		var members []*node
		for _, n := range w.alive() {
			if n.view.Has(n.id) && !n.going { // the cluster may end with a node that leaves
				members = append(members, n)
			}
		}
		if len(members) == 0 {
			return false
		}
		force := w.anew.refused == phalanx.ErrUnavailable
		for range 1 + w.fate.IntN(3)/2 {
			n := members[w.fate.IntN(len(members))]
			n.stepView(view.Recover{Force: force, Now: n.clock()})
			w.step(n, "recover")
		}
		if w.until(w.now+formWithin, func() bool { return w.anew.formed }) {
			w.lost = false
			return true
		}
	}
	w.fail("(18) the cluster is not formed anew, told %d times to: %v%s", mostFormings, w.anew.refused, w.waiting())
	return false
}

const (
	mostFormings = 10               // the operator tries so often
	formWithin   = 15 * time.Second // a node forms the cluster anew, or says why not, in this time
)

// formed notes that n has formed the cluster anew from its view. A later view that only dead
// members knew counts as not decided: the cluster may lose what owners of that view have
// acknowledged.
func (a *audit) formed(n *node) {
	a.w.met["cluster formed anew"]++
	a.w.anew.formed = true
	for i, s := range n.view.Shards {
		if a.table[i] != s {
			a.w.met["view lost with those that knew it"]++
			a.forget(i, n.view)
		}
	}
}
