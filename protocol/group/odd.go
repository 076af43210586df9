package group

import "slices"

// odd reports whether no member says a message: it is of an agreement so far ahead that its sender
// cannot have come to it, or names ranks that the group does not have.
func (c *Core) odd(m Message) bool {
	var name string
	var seq uint64
	var failed []int
	switch m := m.(type) {
	case Contribute:
		name, seq = m.Group, m.Seq
	case Ask:
		name, seq = m.Group, m.Seq
	case Propose:
		name, seq, failed = m.Group, m.Seq, m.Decision.Failed
	case Decide:
		name, seq, failed = m.Group, m.Seq, m.Decision.Failed
	default:
		return false
	}
	g := c.groups[name]
	return g != nil && (seq >= g.over+3*kept || slices.ContainsFunc(failed, func(rank int) bool { return rank < 0 || rank >= g.roster.Len() }))
}
