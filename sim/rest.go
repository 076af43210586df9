package sim

import (
	"fmt"
	"slices"
)

// missing names a condition that the next fault waits for, or returns "": all live nodes must be members with the
// newest view and suspect no node, no change of the view may be under way, and voters, backups and
// promised copies must be there.
func (w *world) missing() string {
	if what := w.undecided(); what != "" {
		return what
	}
	alive, v := w.alive(), w.audit.newest
	if !w.untouched() {
		return "a machine or a link fails"
	}
	for _, n := range alive {
		if s := n.detector.Suspects(); len(s) > 0 {
			return fmt.Sprintf("%s suspects %v", n.id, s)
		}
	}
	for i, s := range v.Shards {
		if w.shape.cap == 0 && !w.copiesThere(w.byID[s.Owner], i, alive) {
			return fmt.Sprintf("nodes have fewer copies of objects of shard %d than their Puts asked for", i)
		}
	}
	return ""
}

// undecided names a change that the voters or shards have yet to finish, or returns "": all live nodes must be
// members with the newest view and a lease, and voters and backups must be there.
func (w *world) undecided() string {
	alive, v := w.alive(), w.audit.newest
	if len(alive) != len(v.Members) {
		return fmt.Sprintf("%d nodes live, the view is %v", len(alive), v)
	}
	settled := false
	for _, n := range alive {
		n.want()
	}
	for _, n := range alive {
		settled = settled || n.core.Settled()
		switch {
		case !v.Has(n.id) || n.view.Number != v.Number:
			return fmt.Sprintf("%s has %v", n.id, n.view)
		case n.client.lease <= n.clock():
			return fmt.Sprintf("%s has no lease", n.id)
		case !n.joining.ready:
			return fmt.Sprintf("%s is not ready", n.id)
		case n.majority != nil:
			return fmt.Sprintf("%s: %v", n.id, n.majority)
		}
	}
	stay := len(alive)
	for _, m := range v.Members {
		if m.Leaving && w.byID[m.ID].going { // it leaves on its own, and may take long
			stay--
		} else if m.Leaving {
			return fmt.Sprintf("%s is about to be removed", m.ID)
		}
	}
	want := min(3, stay-1+stay%2)
	if stay >= 7 {
		want = 5
	}
	if !settled || len(v.Voters) != want {
		return fmt.Sprintf("the voters have not decided all changes of %v", v)
	}
	for i, s := range v.Shards {
		o, b := w.byID[s.Owner], w.byID[s.Backup]
		switch {
		case len(alive) > 1 && s.Backup == "":
			return fmt.Sprintf("shard %d has no backup", i)
		case o.shards[i] == nil || o.shards[i].Lost() || !o.shards[i].Answers() || o.shards[i].Warming():
			return fmt.Sprintf("the owner of shard %d does not answer, or is warming", i)
		case s.Backup != "" && (b.shards[i] == nil || b.shards[i].Lost()):
			return fmt.Sprintf("the backup of shard %d has lost its state", i)
		}
	}
	return ""
}

// someLeave reports whether a node is about to leave.
func (w *world) someLeave() bool {
	return slices.ContainsFunc(w.alive(), func(n *node) bool { return n.going })
}

// staying returns the nodes that live and are not about to leave.
func (w *world) staying() []*node {
	return slices.DeleteFunc(slices.Clone(w.alive()), func(n *node) bool { return n.going })
}

// copiesThere reports whether these nodes have all promised copies of a shard's objects.
func (w *world) copiesThere(o *node, shard int, nodes []*node) bool {
	stay := len(w.staying())
	for _, id := range o.shards[shard].Objects() {
		m := w.oracle.model(id)
		if m.copies < 2 || !m.final() {
			continue
		}
		k := 0
		for _, n := range nodes {
			if c := n.whole(id); c != nil && c.Gen == m.gen && c.Pinned && c.listed {
				k++
			}
		}
		if k < min(m.copies, stay) && (k > 0 || w.deaths < m.copies && !w.hasChanged(id)) {
			return false // if as many processes died as there were copies, the last copy may have gone before there was another
		}
	}
	return true
}
