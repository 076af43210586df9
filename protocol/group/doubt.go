package group

import "github.com/phalanx-go/phalanx"

// A node that has accepted that a group is formed may hear of a coordinator that knows nothing of
// it, since that was no member of the cluster then. The group may be decided nevertheless: the
// node first asks others that had a part in it. A node that has not decided it by the present view
// never will, since it does not heed the earlier coordinator any more.

// decidedByNone reports whether no node with a part in the accepted decision has decided it. It
// asks nodes that have not said so.
func (c *Core) decidedByNone(g *group, a *agreement) bool {
	none := true
	for _, node := range c.live(g) {
		if node == c.view.Self || !a.took.counts(g.roster, node) || a.denied[node] == c.view.Number {
			continue
		}
		none = false
		c.send(node, Ask{Group: g.name, Life: g.life, Seq: a.seq, Roster: g.roster.digest})
	}
	return none
}

// deny takes note that a node has not decided the decision accepted here, as of the present view.
func (c *Core) deny(g *group, a *agreement, from phalanx.NodeID) {
	if a.took == nil || a.seq != 0 || g.formed {
		return
	}
	if a.denied == nil {
		a.denied = map[phalanx.NodeID]uint64{}
	}
	a.denied[from] = c.view.Number
}
