package sim

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// decidable reports whether a majority of the voters lives: of the newest view's voters, of those
// that any node knows as decided, and of those to which a leader has just begun to change. A leader
// asks them before it begins, so an old change counts only if most voters hang or are cut off, or in
// a crowded run. A voter that has the change while it hangs or is cut off brings it through later.
func (w *world) decidable() bool { return w.decides(func(n *node) bool { return !n.over }) }

// decides reports whether want holds for a majority of the voters, in the same way.
func (w *world) decides(want func(*node) bool) bool {
	var newest uint64
	var form view.Form
	var decided [][]phalanx.NodeID
	for _, n := range w.nodes { // also ended nodes
		if n.view.Restarts != w.audit.newest.Restarts {
			continue // of a cluster that was begun anew since
		}
		index, all := n.core.Quorums()
		if f := n.view.Form(); f > form || f == form && index > newest {
			form, newest, decided = f, index, all
		}
	}
	awake := func(n *node) bool { return !n.host.hung && w.reaches(n.host) }
	apart := slices.ContainsFunc(decided, func(voters []phalanx.NodeID) bool { return !w.most(voters, awake) })
	quorums := append(decided, w.audit.newest.Voters)
	for _, n := range w.nodes {
		if n.view.Restarts != w.audit.newest.Restarts {
			continue
		}
		if to, since := n.core.Changing(n.clock()); to != nil && (since < justBegun || apart || w.shape.faults == crowded) {
			quorums = append(quorums, to)
		}
	}
	return !slices.ContainsFunc(quorums, func(voters []phalanx.NodeID) bool { return !w.most(voters, want) })
}

// most reports whether want holds for more than half of some voters.
func (w *world) most(voters []phalanx.NodeID, want func(*node) bool) bool {
	n := 0
	for _, id := range voters {
		if v := w.byID[id]; v != nil && want(v) {
			n++
		}
	}
	return n > len(voters)/2 || len(voters) == 0
}

// justBegun is the longest time that messages may take to decide a change of the voters.
const justBegun = 300 * time.Millisecond

// dispensable reports whether the nodes on some machines may fail in addition to the struck ones: a
// majority of the voters stays well.
func (w *world) dispensable(hosts ...*host) bool {
	return w.decides(func(n *node) bool { return !n.over && n.host.troubled <= w.now && !slices.Contains(hosts, n.host) })
}
