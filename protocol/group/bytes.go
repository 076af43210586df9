package group

import "slices"

// Bytes returns about how much memory the core holds for groups, waiting calls and
// unacknowledged news. It costs the same however many groups there are: after each step, the
// core counts the groups of the step again.
func (c *Core) Bytes() int64 {
	return c.ofGroups + c.ofNews + int64(len(c.calls)*bytesOfCall+len(c.held)*bytesOfName+len(c.invites)*bytesOfName+c.due.Len()*bytesOfErrand)
}

// Bytes of entries, with the spare capacity of maps. They were measured with three members in
// each group.
const (
	bytesOfGroup     = 1200 // with its maps
	bytesOfAgreement = 500
	bytesOfBallot    = 600
	bytesOfDecision  = 200
	bytesOfPart      = 120
	bytesOfMember    = 72 // in a roster
	bytesOfRank      = 24 // in a map
	bytesOfCall      = 400
	bytesOfName      = 100
	bytesOfErrand    = 160
	bytesOfNews      = 250
)

// counting is how much memory a core holds.
type counting struct {
	ofGroups int64 // Invariant: the sum of the bytes of groups, and of the rosters in use
	ofNews   int64 // that is not acknowledged
	touched  map[*group]struct{}
	rosters  map[uint64]*shared // by digest
}

// shared is a roster that groups of the same members have in common: each message brings one.
type shared struct {
	*Roster
	groups int
}

// share returns the roster that groups with the members of r have.
func (c *Core) share(r *Roster) *Roster {
	s := c.rosters[r.digest]
	if s == nil {
		s = &shared{Roster: r}
		c.rosters[r.digest] = s
		c.ofGroups += r.bytes()
	}
	if s.Roster != r && !slices.Equal(s.members, r.members) { // two rosters may have the same digest
		return r
	}
	s.groups++
	return s.Roster
}

// unshare takes a group away that has a roster.
func (c *Core) unshare(r *Roster) {
	if s := c.rosters[r.digest]; s != nil && s.Roster == r {
		if s.groups--; s.groups == 0 {
			delete(c.rosters, r.digest)
			c.ofGroups -= r.bytes()
		}
	}
}

// touch has a group counted again after the step.
func (c *Core) touch(g *group) {
	if g != nil {
		c.touched[g] = struct{}{}
	}
}

// count counts the groups that a step was about.
func (c *Core) count() {
	for g := range c.touched {
		if c.groups[g.name] == g {
			now := g.count()
			c.ofGroups += now - g.bytes
			g.bytes = now
		}
		delete(c.touched, g)
	}
	if len(c.own) == 0 && cap(c.own) > 0 {
		c.own = nil
	}
}

func (g *group) count() int64 {
	n := bytesOfGroup + len(g.name) + len(g.of) + bytesOfRank*(len(g.taken)+len(g.failed)+len(g.gone)+len(g.wave)+len(g.local)) + bytesOfNews*g.kept
	if len(g.nodes) < len(g.roster.nodes) {
		n += 16 * len(g.nodes)
	}
	n += 16 * len(g.liveList)
	sum := int64(n)
	for _, a := range g.agreed {
		sum += a.count()
	}
	return sum
}

func (a *agreement) count() int64 {
	n := bytesOfAgreement + bytesOfPart*len(a.mine) + bytesOfRank*(len(a.callers)+len(a.absent))
	sum := int64(n) + a.took.count() + a.decided.count()
	if b := a.ballot; b != nil {
		sum += bytesOfBallot + b.bytes + int64(bytesOfRank*len(b.missing)+bytesOfName*len(b.accepts)) + b.proposal.count()
	}
	return sum
}

func (d *Decision) count() int64 {
	if d == nil {
		return 0
	}
	sum := int64(bytesOfDecision + 8*(len(d.Failed)+len(d.Unacknowledged)) + len(d.Mismatch) + len(d.Group))
	if d.Roster != nil {
		sum += d.Roster.bytes()
	}
	return sum
}

func (m Contribute) count() int64 {
	n := bytesOfName + bytesOfPart*len(m.Parts) + 8*len(m.Gone)
	for _, p := range m.Parts {
		n += 8*len(p.Acked) + bytesOfMember*len(p.Newcomers)
	}
	return int64(n)
}

func (r *Roster) bytes() int64 { return int64(bytesOfName + r.text + bytesOfMember*len(r.members)) }

func countNews(n News) int64 {
	sum := bytesOfNews
	switch n := n.(type) {
	case Revoke:
		sum += 16*len(n.Hops) + len(n.Reason)
	case Gone:
		sum += 8 * len(n.Ranks)
	case Invite:
		return int64(sum) + n.Roster.bytes()
	}
	return int64(sum)
}

// about returns the name of the group that a message is of.
func about(m Message) string {
	switch m := m.(type) {
	case Contribute:
		return m.Group
	case Ask:
		return m.Group
	case Standing:
		return m.Group
	case Propose:
		return m.Group
	case Accept:
		return m.Group
	case Decide:
		return m.Group
	case Declined:
		return m.Group
	}
	return ""
}

// maxRoom is for how many entries a map keeps room that has few.
const maxRoom = 256

// roomy gives back the memory of a map with few entries left: a Go map never does.
type roomy[K comparable, V any] struct {
	most int // entries that it has had since it was made
}

// fit returns a map of the same entries, without the room of many that have gone.
func (r *roomy[K, V]) fit(m map[K]V) map[K]V {
	r.most = max(r.most, len(m))
	if r.most <= maxRoom || len(m) > r.most/8 {
		return m
	}
	small := make(map[K]V, len(m))
	for k, v := range m {
		small[k] = v
	}
	r.most = len(m)
	return small
}

// fit gives back the room of groups, calls and news that are over.
func (c *Core) fit() {
	c.groups = c.groupsRoom.fit(c.groups)
	c.calls = c.callsRoom.fit(c.calls)
	c.held = c.heldRoom.fit(c.held)
	c.invites = c.invitesRoom.fit(c.invites)
	c.touched = c.touchedRoom.fit(c.touched)
}

// rooms are the sizes of the maps of a core.
type rooms struct {
	groupsRoom  roomy[string, *group]
	callsRoom   roomy[uint64, *call]
	heldRoom    roomy[string, []uint64]
	invitesRoom roomy[string, Invite]
	touchedRoom roomy[*group, struct{}]
}
