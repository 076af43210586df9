package mistakes

// inGroups are mistakes of groups.
var inGroups = []Mistake{
	mistake(Groups, "a failure counts as acknowledged by all once one member has acknowledged it",
		"protocol/group/coordinate.go", "acked[rank] < len(parts)", "acked[rank] == 0"),
	mistake(Tests, "a message from a node that is no member counts",
		"protocol/group/core.go", `	if !c.view.Members[from] {
		return // not yet, or not any more
	}
`, ""),
	mistake(Tests, "a coordinator of an earlier term is heeded",
		"protocol/group/agree.go", `	if m.Term < c.fence {
		return
	}
	c.fence`, "\tc.fence"),
	mistake(Tests, "an acceptance of an earlier term counts",
		"protocol/group/coordinate.go", "|| b.term != m.Term || a.decided != nil", "|| a.decided != nil"),
	mistake(Tests, "a late contribution of an earlier group counts",
		"protocol/group/coordinate.go", "\tif a.seq == 0 && m.Life != g.life { // it may", "\tif false { // it may"),
	mistake(Groups, "a coordinator forgets the proposal that it has accepted",
		"protocol/group/coordinate.go", `	case a.took != nil:
		b.proposal = a.took
`, ""),
	mistake(Tests, "a coordinator decides without members that it does not know yet",
		"protocol/group/coordinate.go", "\tcase b.newest > c.view.Number || a.seq == 0", "\tcase a.seq == 0"),
	mistake(Tests, "one member that knows of a failure speaks for all",
		"protocol/group/coordinate.go", `			if acked[rank] < len(parts) {
`, `			if acked[rank] == 0 {
`),
	mistake(Tests, "a revoke that comes before its group is lost",
		"protocol/group/agree.go", `		g.taken[w.Rank] = true
		c.finish(w, Done{Group: g.name, Life: g.life, Roster: g.roster, Rank: w.Rank, Decision: *a.decided, Failed: slices.Sorted(maps.Keys(g.failed))})
	}
	c.catchUp(g)
`, `		g.taken[w.Rank] = true
		c.finish(w, Done{Group: g.name, Life: g.life, Roster: g.roster, Rank: w.Rank, Decision: *a.decided, Failed: slices.Sorted(maps.Keys(g.failed))})
	}
`),
	mistake(Tests, "a member that has given up counts for the number of a quorum",
		"protocol/group/agree.go", `!waits && a.mine[rank].AtLeast > 0 {
				continue`, `false && !waits {
				continue`),
	mistake(Tests, "a late decision of an earlier group leaves a member out of the next one",
		"protocol/group/life.go", "\t\ta.took, g.try = nil, c.nonce() // late", "\t\ta.took = nil // late"),
	mistake(Tests, "the name of a group whose members leave is in use",
		"protocol/group/life.go", "roster == g.roster.digest || len(g.failed) > 0 {", "roster == g.roster.digest {"),
	mistake(Groups, "a message about an earlier group counts for the present one",
		"protocol/group/agree.go", " || m.Of != g.life {", " {"),
	mistake(Tests, "a late answer takes a member into the group that it has left",
		"protocol/group/agree.go", "\tnow := m.Try == g.try && from == c.coordinator(g)", "\tnow := from == c.coordinator(g)"),
	mistake(Tests, "a group is formed of fewer than its quorum",
		"protocol/group/quorum.go", "b.quorum.AtLeast > 0 && called >= b.quorum.AtLeast &&", "b.quorum.AtLeast > 0 &&"),
	mistake(Tests, "a new coordinator begins the join timeout anew",
		"protocol/group/coordinate.go", `	a.ballot.joining = old.joining
`, ""),
	mistake(Tests, "a member does not repeat an unanswered contribution when answers take longer",
		"protocol/group/core.go", `			c.due.Set(e, c.sayAt(g, a))
		case !e.urge && a.open():`, "\t\tcase !e.urge && a.open():"),
	mistake(Tests, "a node repeats messages that wait in a mailbox",
		"protocol/group/repeat.go", `		p.trip.Took(min(c.now-asked, c.cfg.ResendMax))
`, ""),
	mistake(Tests, "a member that has left makes calls",
		"protocol/group/call.go", " || g.gone[e.Rank] {", " {"),
	mistake(Tests, "a node goes by the live members of an earlier view",
		"protocol/group/core.go", "\tif g.liveIn == c.view.Number && g.liveIn > 0 {", "\tif g.liveIn > 0 {"),
	mistake(Tests, "a group is formed in a view that does not have all its members yet",
		"protocol/group/agree.go", "a.resolved || a.decided.For == ForForm && a.decided.View > c.view.Number {", "a.resolved {"),
	mistake(Tests, "a wave does not reach the other members of a node",
		"protocol/group/wave.go", `	for _, rank := range g.local {
		w.reach(Hop{nobody, rank})
	}
`, ""),
	mistake(Tests, "an agreement that is over answers as a new one",
		"protocol/group/agree.go", "a != nil || seq < g.over {", "a != nil {"),
	mistake(Groups, "a coordinator decides before all have accepted",
		"protocol/group/coordinate.go", "	if len(b.accepts) < len(c.live(g)) {\n\t\treturn\n\t}\n\tfor _, node := range c.live(g) {\n\t\tif !b.accepts[node] {",
		"	for _, node := range c.live(g) {\n\t\tif node == c.view.Self && !b.accepts[node] {"),
	mistake(Groups, "a member that leaves a group tells nobody",
		"protocol/group/call.go", "			c.tell(node, Gone{Named: g.named(), Ranks: ranks})\n", "",
		"protocol/group/agree.go", "			m.Gone = append(m.Gone, rank)\n", ""),
	mistake(Tests, "a node that hears of a revoke tells no other one",
		"protocol/group/wave.go", "		for part := range slices.Chunk(w.to[node], maxHops) {", "		for part := range slices.Chunk(w.to[node], maxHops) {\n\t\t\tif len(w.from) > 0 {\n\t\t\t\tbreak\n\t\t\t}"),
	mistake(Groups, "a node does not repeat news that got lost",
		"protocol/group/tell.go", "	c.send(e.to, Tell{Num: e.num, News: o.news})\n", ""),
	mistake(Groups, "a group is proposed without its members to nodes that do not know it",
		"protocol/group/coordinate.go", "!knows && a.seq == 0 {\n\t\tm.Roster = g.roster", "!knows && false {\n\t\tm.Roster = g.roster"),
	mistake(Groups, "members that have not come to a group count as live",
		"protocol/group/agree.go", "	for _, rank := range a.decided.Failed {\n\t\tg.failed[rank] = true\n\t}\n", ""),
	mistake(Groups, "a Decide that answers no attempt of this node gives its group a life",
		"protocol/group/core.go", "!g.formed && m.Try != 0 && (m.Try == g.try || m.Try == g.life) {", "!g.formed {"),
	mistake(Tests, "a Form that was given up while an earlier group ended goes on waiting",
		"protocol/group/call.go", "		c.unhold(w)\n", ""),
	mistake(Tests, "an invitation to a group that is over is taken again",
		"protocol/group/invite.go", "	if slices.Contains(c.taken, m.Group) || c.groups[m.Group] != nil", "	if c.groups[m.Group] != nil",
		"protocol/group/invite.go", "	if slices.Contains(c.taken, m.Group) || g != nil &&", "	if g != nil &&"),
	mistake(Tests, "an invitation of another incarnation of the node is taken",
		"protocol/group/invite.go", " || m.Roster.members[m.Rank].Node != c.view.Self {", " {"),
	mistake(Tests, "news of an earlier group of the same name counts",
		"protocol/group/tell.go", "	if g == nil || g.life != n.Life && !isChild(n.Group) {", "	if g == nil {"),
	mistake(Tests, "a group that has other members is joined by a name that is in use",
		"protocol/group/call.go", "case g.roster.digest != w.Roster.digest:", "case false:"),
	mistake(Tests, "a node that was removed goes on in its groups",
		"protocol/group/core.go", "if old.Self != \"\" && old.Self != v.Self {", "if old.Self != \"\" && false {"),
	mistake(Tests, "a coordinator forms a group without asking nodes whose members have not called Form",
		"protocol/group/coordinate.go", "	if len(b.accepts) < len(c.live(g)) {\n\t\treturn\n\t}\n\tfor _, node := range c.live(g) {\n\t\tif !b.accepts[node] {",
		"	for _, node := range c.live(g) {\n\t\tif _, called := b.from[node]; called && !b.accepts[node] {"),
}
