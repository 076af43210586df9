package barrier

import "github.com/phalanx-go/phalanx"

// A primary that waits for another node says so to the participants' nodes, since the errors of callers
// that give up name that node, and not the primary.

// lateAsks is how often a primary asks another node before it says that it waits for that node.
const lateAsks = 2

// delay tells a node why its participants have no answer yet.
func (c *Core) delay(to phalanx.NodeID, m Reached) {
	if lags := c.lagging(m.Key, lateAsks); len(lags) > 0 {
		c.send(to, Answers{Key: m.Key, Term: c.terms.Term, Stamp: m.Stamp, More: true, Awaits: lags})
	}
}

// delayed reports whether m only says why there is no answer yet.
func (m *Answers) delayed() bool { return m.More && len(m.List) == 0 && len(m.Awaits) > 0 }

// lagging returns the first nodes whose answers this node, the primary of a barrier, lacks although it
// has asked so many times: members whose knowledge it needs, or backups. It returns none on other nodes.
func (c *Core) lagging(k Key, times int) (lags []phalanx.NodeID) {
	if c.primary(k) != c.view.Self {
		return nil
	}
	if !c.gathering.Done() {
		lags = c.gathering.Lagging(times)
	} else if r := c.replicas[k]; r != nil && r.flight != nil {
		lags = r.backups.Lagging(times)
	}
	return lags[:min(len(lags), MaxAbsent)]
}

// giveUpOn emits the answer to a caller of a barrier that gives up.
func (c *Core) giveUpOn(k Key, awaits []phalanx.NodeID, given GivenUp) {
	c.emit(c.heldUp(k, awaits, given))
}

// heldUp returns given with what holds the caller up: what the primary has said of that, or on the
// primary's own node what it knows.
func (c *Core) heldUp(k Key, awaits []phalanx.NodeID, given GivenUp) GivenUp {
	given.Awaits, given.Unleased = awaits, false
	if given.Primary == c.view.Self {
		given.Awaits, given.Unleased = c.lagging(k, 1), c.now >= c.leased
	}
	return given
}

// Culprit returns the node that has held up the caller, as far as it is known here: one for which the
// primary waits, or the primary that has not answered. It is "" if participants are awaited.
func (g *GivenUp) Culprit() phalanx.NodeID {
	switch {
	case len(g.Awaits) > 0:
		return g.Awaits[0]
	case g.Heard || g.Unleased:
		return ""
	}
	return g.Primary
}
