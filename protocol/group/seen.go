package group

import (
	"maps"
	"slices"
)

// Seen is how a group stands, as a node sees it.
type Seen struct {
	Name    string
	Roster  *Roster
	Failed  []int // ranks, also those of members that have left
	Left    []int
	Revoked *Revocation
	Sent    int // messages of its revoke that this node's members have sent
}

// MaxSeen bounds how many members Seen names in all: they go in one message.
const MaxSeen = 2 * MaxMembers

// Seen returns the groups that have members here, by name, and how many are left out
// because all together have too many members.
func (c *Core) Seen() (all []Seen, more int) {
	members := 0
	for _, name := range slices.Sorted(maps.Keys(c.groups)) {
		g := c.groups[name]
		if !g.formed || len(g.local) == 0 {
			continue
		}
		if members += g.roster.Len(); members > MaxSeen {
			more++
			continue
		}
		s := Seen{Name: name, Roster: g.roster, Failed: slices.Sorted(maps.Keys(g.failed)), Left: slices.Sorted(maps.Keys(g.gone)), Sent: g.sent}
		for _, rank := range g.local {
			if why, ok := g.wave[rank]; ok {
				s.Revoked = &why
				break
			}
		}
		all = append(all, s)
	}
	return all, more
}
