package group

import (
	"maps"
	"slices"
)

// inviting are the invitations of newcomers here.
type inviting struct {
	invites map[string]Invite // the last one of each label
	taken   []string          // names of groups that newcomers here have formed, the last ones: other members may still invite
}

// maxTaken bounds how many of those names are remembered.
const maxTaken = 1024

// take notes that a newcomer here has come.
func (i *inviting) take(g *group, label string) {
	if i.invites[label].Group == g.name {
		delete(i.invites, label)
	}
	if isChild(g.name) && !slices.Contains(i.taken, g.name) {
		i.taken = append(i.taken[max(0, len(i.taken)-maxTaken+1):], g.name)
	}
}

// invite tells the newcomers of a group of it, and members that come back: the parent group was
// formed without them, or they have left that.
func (c *Core) invite(g *group, d Decision) {
	for rank, m := range d.Roster.members {
		if old := slices.Index(g.roster.members, m); old < 0 || slices.Contains(d.Failed, old) {
			c.tell(m.Node, Invite{Group: d.Group, Roster: d.Roster, Rank: rank})
		}
	}
}

// invited takes an invitation. A caller that waits for one, or for a group of an earlier one,
// takes it.
func (c *Core) invited(m Invite) {
	if slices.Contains(c.taken, m.Group) || c.groups[m.Group] != nil && c.groups[m.Group].formed {
		return
	}
	if m.Rank < 0 || m.Rank >= m.Roster.Len() || m.Roster.members[m.Rank].Node != c.view.Self {
		return
	}
	label := m.Roster.members[m.Rank].Label
	if old, ok := c.invites[label]; ok && old.Group == m.Group {
		return // each of the others tells it
	}
	c.invites[label] = m
	for _, id := range slices.Sorted(maps.Keys(c.calls)) {
		if w := c.calls[id]; w.Kind == CallAwait && w.Label == label && w.Group != m.Group {
			c.await(w)
			return
		}
	}
}

// await has a newcomer join the group of its invitation, now or later.
func (c *Core) await(w *call) {
	m, ok := c.invites[w.Label]
	if !ok {
		return
	}
	g := c.groups[m.Group]
	if slices.Contains(c.taken, m.Group) || g != nil && (g.formed || g.decline) {
		delete(c.invites, w.Label)
		return
	}
	if g != nil && g.agreed[0] != nil {
		if _, waits := g.agreed[0].callers[m.Rank]; waits { // another call has taken it
			return
		}
	}
	w.forget()
	w.Group, w.Roster, w.Rank = m.Group, m.Roster, m.Rank
	c.form(w)
}
