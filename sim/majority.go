package sim

import (
	"slices"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/member"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// sees takes the node's finding about the majority of the voters.
func (n *node) sees(m view.Majority) {
	w, before := n.w, n.majority
	if n.majority = nil; m.Lost {
		n.majority = &m
	}
	if !member.News(before, m) {
		return
	}
	if !m.Lost {
		w.met["majority found"]++
		return
	}
	n.process.noLease(n)
	if w.met["majority seen as lost"]++; len(m.Missing) > 0 {
		w.met["majority seen as lost: voters are missing"]++
	}
	if n.client.lease > n.clock() {
		w.fail("(22) %s has a lease until %v, and sees the %v", n.id, n.client.lease, m)
	}
	since := n.born + m.Since
	well := func(v *node) bool { return !v.over && w.audit.steady(v, since) }
	// A change of the voters needs a majority of the old ones and of the new ones, which may be one.
	changes := slices.ContainsFunc(w.audit.newest.Members, func(m view.Member) bool { return m.Leaving })
	if w.shape.faults <= bounded && !changes && well(n) && w.most(m.Voters, well) {
		w.fail("(22) %s and most voters are well, and it sees the %v", n.id, m)
	}
}

// allSeeLoss reports whether all members that live see that the majority is lost, and which voters are
// dead.
func (w *world) allSeeLoss() bool {
	return !slices.ContainsFunc(w.alive(), func(n *node) bool { return n.view.Has(n.id) && !n.seesLoss() })
}

func (n *node) seesLoss() bool {
	return n.majority != nil && !slices.ContainsFunc(n.majority.Voters, func(id phalanx.NodeID) bool {
		return n.w.byID[id].over && !slices.Contains(n.majority.Missing, id)
	})
}
