package mistakes

// inBarriers are about barriers.
var inBarriers = []Mistake{
	mistake(Barriers, "a confirmation of an earlier change counts for the present one",
		"protocol/barrier/copy.go", " || m.Seq != r.seq+1 {", " {"),
	mistake(Tests, "a confirmation of an earlier term counts",
		"protocol/barrier/copy.go", "r == nil || m.Term != c.term || !c.knows", "r == nil || !c.knows"),
	mistake(Tests, "a primary acts without a lease",
		"protocol/barrier/primary.go", `	if !c.ready(m.Key) || c.now >= c.leased {
`, `	if !c.ready(m.Key) {
`,
		"protocol/barrier/primary.go", "|| !c.knows || c.now >= c.leased {", "|| !c.knows {"),
	mistake(Tests, "a primary that has no lease drops what it is asked",
		"protocol/barrier/core.go", `		if c.knows && c.now < c.leased {
			c.hearEarly()
`, `		if c.knows && c.now < c.leased {
			c.early = early{}
`),
	mistake(Tests, "a late copy of an entry that was withdrawn enters again",
		"protocol/barrier/rule.go", "op.Attempt <= attempt {", "op.Attempt < attempt {"),
	mistake(Tests, "an entry that is late goes on although it is to catch up",
		"protocol/barrier/rule.go", `	case b.cfg.Late == CatchUp:
`, `	case false:
`),
	mistake(Tests, "a barrier fires at its percentage before MinWait",
		"protocol/barrier/rule.go", " && b.Now-b.Began >= b.cfg.MinWait", ""),
	mistake(Tests, "a withdrawal that overtakes its entry is forgotten",
		"protocol/barrier/rule.go", `	if !known { // it was overtaken, and does not enter later
		b.index[op.Entry] = len(b.Entrances)
		b.Entrances = append(b.Entrances, Entrance{Entry: op.Entry, Attempt: op.Attempt, Phase: Withdrawn, Since: b.Now})
	} else if`, `	if !known {
	} else if`),
	mistake(Tests, "one that has withdrawn at one node leaves at all",
		"protocol/barrier/rule.go", "if e.went(op.Node); was > 0 && len(e.Nodes) == 0 {", "if e.went(op.Node); was > 0 {"),
	mistake(Tests, "an older replica of a term is taken for the newest",
		"protocol/barrier/manager.go", "h.Term == old.Term && h.Seq > old.Seq", "h.Term == old.Term && h.Seq < old.Seq"),
	mistake(Tests, "a member answers a primary of an earlier term that gathers",
		"protocol/barrier/gather.go", `	if m.Term < c.term || m.Term < c.fence {
`, `	if false {
`),
	mistake(Tests, "an answer to an earlier question of a primary that gathers counts",
		"protocol/barrier/gather.go", `m.Term != c.term || m.Stamp != c.stamp {
		return`, `m.Term != c.term {
		return`),
	mistake(Tests, "an answer whose first part was lost is not begun again",
		"protocol/barrier/gather.go", `	case m.Said != t.said && t.part > 0: // it has heard nothing of this answer, whose first part was lost
		t = c.tellAnew(from, m)
`, ""),
	mistake(Tests, "a semaphore admits one too many",
		"protocol/barrier/semaphore.go", "len(b.Holders)+len(b.Asks) < b.level()", "len(b.Holders)+len(b.Asks) <= b.level()"),
	mistake(Tests, "an entry that waits for a semaphore at two nodes asks without end",
		"protocol/barrier/answers.go", `			c.overtaken(g, p)
`, `			c.attempt = max(c.attempt, a.Attempt) + 1
			p.attempt, p.stage = c.attempt, asking
`),
	mistake(Tests, "a participant believes a primary of an earlier term",
		"protocol/barrier/answers.go", "g != nil && term >= c.fence && term >= g.term", "g != nil"),
	mistake(Tests, "what is said of a withdrawn attempt counts for the next one",
		"protocol/barrier/answers.go", `a.Verdict == Deleted) && a.Attempt < p.attempt {
			return`, `a.Verdict == Deleted) && false {
			return`),
	mistake(Barriers, "entries that no caller has asked for are not withdrawn",
		"protocol/barrier/answers.go", `	if m.Term >= c.fence {
		c.disown(g, m)
	}
`, ""),
	mistake(Barriers, "a node holds a semaphore without a lease",
		"protocol/barrier/answers.go", " || c.now >= c.leased && p.stage != holds {", " {"),
	mistake(Tests, "those who leave a double barrier do not wait for those who stay",
		"protocol/barrier/double.go", " || b.someStay() {", " {"),
	mistake(Tests, "a Remove that comes twice ends the next barrier",
		"protocol/barrier/remove.go", "b.Removals[i].Attempt >= op.Attempt:", "b.Removals[i].Attempt > op.Attempt:"),
	mistake(Tests, "an old record says that a removed barrier has fired",
		"protocol/barrier/past.go", "if p.removed.Has(digest) {", "if false {"),
	mistake(Tests, "a member with an old view takes records for those who know",
		"protocol/barrier/spread.go", `	if m.View > c.view.Number {
		return // it is told again
	}
`, ""),
	mistake(Tests, "what is kept for a primary that is not ready has no bound",
		"protocol/barrier/early.go", "!again && len(e.all) < earlyLimit && e.weight+weight <= earlyWeight", "!again"),
	mistake(Tests, "an entry that managers who are gone may have counted is entered again",
		"protocol/barrier/flush.go", "p.counted = p.counted || p.told && !p.leave", "_ = p"),
	mistake(Tests, "a backup lets a primary go on that does not know that the barrier has fired",
		"protocol/barrier/copy.go", `	case len(m.Fired) > 0:
`, `	case false:
`),
	mistake(Barriers, "a member that is asked what it knows says nothing of its replicas",
		"protocol/barrier/gather.go", "		g.Replicas = append(g.Replicas, h)\n", ""),
	mistake(Tests, "a backup makes changes although it has missed those before",
		"protocol/barrier/backup.go", "r.seq+1 == m.Seq;", "r.seq < m.Seq;"),
	mistake(Tests, "a backup makes changes of a primary of an earlier term",
		"protocol/barrier/backup.go", "	if m.Term < c.fence || m.Term < c.term && c.primary(m.Key) != from {", "	if false {"),
	mistake(Tests, "a backup makes the same changes twice",
		"protocol/barrier/backup.go", "r.term == m.Term && r.seq >= m.Seq {", "r.term == m.Term && r.seq > m.Seq {"),
	mistake(Barriers, "a primary acts before its backups have confirmed",
		"protocol/barrier/copy.go", "	case !m.Need:\n", "	case !m.Need:\n\t\tclear(r.lacks)\n\t\tr.lacks[from] = true\n"),
	mistake(Barriers, "a new backup takes the first piece of a state for all of it",
		"protocol/barrier/copy.go", "if !a.next(m.Config, m.State.Clone(), m.From, m.Total) {", "if !a.next(m.Config, m.State.Clone(), m.From, m.State.items()) {"),
	mistake(Barriers, "a new primary lets others in before it knows who holds a semaphore",
		"protocol/barrier/manager.go", "range []bool{true, false} {", "range []bool{false} {"),
	mistake(Barriers, "a new primary does not know who had come before a barrier was removed",
		"protocol/barrier/remove.go", "			b.entomb(Tomb{Entry: e.Entry, Node: node, Attempt: e.Tries[k], Verdict: v, At: b.Now})\n", "			_ = node\n\t\t\t_ = k\n"),
	mistake(Tests, "a piece of an earlier state of a primary is put to the present one",
		"protocol/barrier/copy.go", " && a.seq == m.Seq && a.stamp == m.Stamp\n", "\n"),
	mistake(Tests, "what is said of an earlier withdrawal ends a later one",
		"protocol/barrier/answers.go", "case a.Verdict != Released || a.Attempt < p.left:", "case a.Verdict != Released:"),
	mistake(Tests, "members that are gone stay in a barrier of a new primary",
		"protocol/barrier/manager.go", "if n != \"\" && !slices.Contains(c.view.Members, n) {", "if false {"),
	mistake(Tests, "an Over that comes twice ends the present one",
		"protocol/barrier/spread.go", "	if o == nil || !o.sends.Waits() || o.num != m.Num {", "	if o == nil || !o.sends.Waits() {"),
	mistake(Tests, "a term that this node has no view of begins",
		"protocol/barrier/manager.go", "	if m.Term > c.term && m.Term <= c.view.Number {", "	if m.Term > c.term {"),
	mistake(Tests, "the state of a barrier is dropped by a primary of before",
		"protocol/barrier/backup.go", "r != nil && m.Term >= r.term && (", "r != nil && ("),
	mistake(Barriers, "a primary says of a barrier that somebody has opened that nobody has",
		"protocol/barrier/asker.go", "	cfg := c.configOf(m.Key)\n", "	cfg := Config{}\n",
		"protocol/barrier/asker.go", "Stamp: stamps[n], Config: cfg})", "Stamp: stamps[n], Config: Config{}})"),
	mistake(Barriers, "a new backup believes that all who are inside a double barrier leave",
		"protocol/barrier/copy.go", "		m.State = &s\n", "		for i := range s.Entrances {\n\t\t\ts.Entrances[i].Leaving = s.Entrances[i].Phase == Through\n\t\t}\n\t\tm.State = &s\n"),
}
