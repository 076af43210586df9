package group

import (
	"fmt"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// Quorum says how many callers of Form suffice to form a group. Without one, all live members
// must have called.
//
// No caller waits for the others. They count as failed in the group, and their nodes have no
// part in its agreements. But each live node of the list has to accept that the group is
// formed, also one without a caller: else it could be the next coordinator, and form
// another group for the same callers. So a coordinator proposes the group with its list of
// members to nodes that do not know it. Such a node asks for the group's life before it
// accepts, as a contributor does, since the proposal may be a late message.
type Quorum struct {
	AtLeast     int           // members; 0: all that are live
	JoinTimeout time.Duration // for how long the others can come, from the first call that the coordinator hears of
}

// String describes the condition for which a Form with the quorum waits.
func (q Quorum) String() string {
	if q.AtLeast == 0 {
		return "all live members"
	}
	return fmt.Sprintf("at least %d members and a join timeout of %v", q.AtLeast, q.JoinTimeout)
}

// Valid returns the mistake in a quorum of a list of members, which is not the zero one,
// or "".
func (q Quorum) Valid(members int) string {
	switch {
	case q.AtLeast < 2 || q.AtLeast > members:
		return fmt.Sprintf("a group of %d can be formed of at least 2 to %d members, and not of at least %d", members, members, q.AtLeast)
	case q.JoinTimeout < 0 || q.JoinTimeout > maxJoinTimeout:
		return fmt.Sprintf("the join timeout is %v", q.JoinTimeout)
	}
	return ""
}

const maxJoinTimeout = 10000 * time.Hour

// called is how many members have called Form that have not failed.
func (b *ballot) called(g *group) int {
	n := 0
	for _, m := range b.from {
		for _, p := range m.Parts {
			if !g.failed[p.Rank] {
				n++
			}
		}
	}
	return n
}

// joining is a coordinator's knowledge of the callers of a Form.
type joining struct {
	begun  bool // a member has called
	since  time.Duration
	quorum Quorum // of the first call
	mixed  bool   // others were heard of
}

// joined takes note of calls of Form.
func (c *Core) joined(g *group, a *agreement, parts []Part) {
	b := a.ballot
	for _, p := range parts {
		if !b.begun {
			b.joining = joining{begun: true, since: c.now, quorum: p.Quorum}
			if p.AtLeast > 0 {
				c.due.Set(errand{group: g.name, num: a.seq, join: true}, c.now+p.JoinTimeout)
				c.urge(g, a) // others may wait already, and say so again seldom
			}
		}
		b.mixed = b.mixed || p.Quorum != b.quorum
	}
}

// enough reports whether the group no longer waits for members that have not called Form, or
// whether the callers' numbers differ.
func (c *Core) enough(g *group, a *agreement) bool {
	b := a.ballot
	if a.seq != 0 || !b.begun || !b.mixed && (b.quorum.AtLeast == 0 || c.now < b.since+b.quorum.JoinTimeout) {
		return false
	}
	called, first, differ := 0, Quorum{}, false
	for _, m := range b.from {
		for _, p := range m.Parts {
			if g.failed[p.Rank] {
				continue
			}
			if called++; called == 1 {
				first = p.Quorum
			}
			differ = differ || p.Quorum != first
		}
	}
	if differ {
		return true
	}
	if b.mixed && called > 0 { // some have given up
		b.quorum, b.mixed = first, false
		c.due.Set(errand{group: g.name, num: a.seq, join: true}, max(c.now, b.since+first.JoinTimeout))
	}
	return b.quorum.AtLeast > 0 && called >= b.quorum.AtLeast && c.now >= b.since+b.quorum.JoinTimeout
}

// unknown answers the proposal to form a group that this node does not know, or not in that
// life.
func (c *Core) unknown(from phalanx.NodeID, m Propose) {
	if m.Seq != 0 || m.Roster == nil || m.Term < c.fence || from != c.first(m.Roster.nodes) || m.Roster.ranks[c.view.Self] == nil {
		return
	}
	g := c.groups[m.Group]
	switch {
	case m.Decision.counts(m.Roster, c.view.Self):
		c.send(from, Standing{Group: m.Group, Of: m.Life})
	case g != nil && (g.formed || g.decline):
		// The members here can leave that group.
	case g != nil && g.roster.digest != m.Roster.digest:
		if !g.forgets() {
			c.send(from, Declined{m.Group, m.Life})
		}
	case g != nil:
		c.send(from, c.contribution(g, g.agreement(0)))
	case g == nil:
		g = c.know(m.Group, m.Roster)
		a := g.agreement(0)
		a.asked = true
		c.contribute(g, a, from)
	}
}

// counts reports whether members on a node count as formed: the node has contributed.
func (d *Decision) counts(r *Roster, node phalanx.NodeID) bool {
	return d.Mismatch == "" && slices.ContainsFunc(r.ranks[node], func(rank int) bool { return !slices.Contains(d.Failed, rank) })
}

// void drops the decision that this node has accepted in a life of a group that one of its
// contributors no longer knows: either the group was formed and is over, or that life was given
// up before anything was decided in it.
func (c *Core) void(g *group, a *agreement, from phalanx.NodeID, life uint64) {
	if g.formed || a.seq != 0 || a.decided != nil || a.took == nil || g.life != life || !a.took.counts(g.roster, from) {
		return
	}
	a.took, a.ballot, g.life, g.try = nil, nil, 0, c.nonce()
	g.revive()
	if len(a.callers) == 0 && len(g.gone) == 0 {
		c.drop(g)
		return
	}
	a.sending = false
	c.contribute(g, a, c.coordinator(g))
}
